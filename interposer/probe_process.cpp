#include "probe_process.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "device.h"
#include "environment.h"
#include "log.h"
#include "saver/saver.h"
#include "topology/topology.h"

namespace atbprobe {
namespace {

// No generation is as large as these two, so a thread that holds one of them always takes the slow way.
constexpr uint64_t kNotTaken = UINT64_MAX - 1;
constexpr uint64_t kNotStarted = UINT64_MAX - 2;
constexpr std::atomic<uint64_t> kNoChannelWord{0};

constexpr int kReadTries = 3;

struct Process {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_key_t thread_end = 0;
    bool started = false;
    bool wants_slot = false;  // attached, and no slot asked for yet
    std::string* config_path = nullptr;
    Channel channel;
    ProcessSlot* slot = nullptr;
    uint64_t generation = 0;  // the control word when `program` was last looked for
    Program* program = nullptr;
    Program* retired = nullptr;
    ThreadRecord* threads = nullptr;
};

// Constant-initialised and trivially destructible: probe functions are called until the very end.
Process g_process;
ProcessCounters g_private_counters;
std::atomic<ProcessCounters*> g_counters{&g_private_counters};
std::atomic<bool> g_is_probed{false};
std::atomic<bool> g_is_dumping{false};

class ProcessLock {
  public:
    ProcessLock() { pthread_mutex_lock(&g_process.lock); }
    ~ProcessLock() { pthread_mutex_unlock(&g_process.lock); }
    ProcessLock(const ProcessLock&) = delete;
    ProcessLock& operator=(const ProcessLock&) = delete;
};

// ---- attaching ----

void forget_thread(ThreadRecord* thread) {
    thread->chain.forget_everything();
    thread->program = nullptr;
    thread->generation = kNotTaken;
}

void take_slot(Process& self) {
    self.wants_slot = false;
    self.slot = channel_claim_slot(self.channel);
    g_counters.store(self.slot == nullptr ? &g_private_counters : &self.slot->counters, std::memory_order_release);
    for (ThreadRecord* thread = self.threads; thread != nullptr; thread = thread->next) thread->lane = nullptr;
    if (self.slot == nullptr) {
        log_message(LogLevel::kWarning, "all %u process slots are taken: this process works but is not shown by status",
                    kSlotCount);
    }
}

void attach(Process& self) {
    std::string folder;
    Channel channel;
    int error = channel_folder_of(environment_runtime_folder(), self.config_path->c_str(), &folder);
    if (error == 0) error = channel_open(folder.c_str(), IfMissing::kCreate, &channel);
    if (error != 0) {
        log_message(LogLevel::kError, "no rules can reach this process: cannot use the channel %s: %s", folder.c_str(),
                    error == -EPROTO ? "it is damaged or of another version" : strerror(-error));
        g_control_word.store(&kNoChannelWord, std::memory_order_release);
        return;
    }
    // An earlier channel stays mapped: other threads may be reading its control word.
    free(self.channel.folder);
    self.channel = channel;
    take_slot(self);
    g_control_word.store(&self.channel.control->generation, std::memory_order_release);
}

void before_fork() { pthread_mutex_lock(&g_process.lock); }

void after_fork_in_parent() { pthread_mutex_unlock(&g_process.lock); }

// The child keeps the mapping and the program, and needs a slot of its own. Other threads are not there any more.
void after_fork_in_child() {
    Process& self = g_process;
    pthread_mutex_init(&self.lock, nullptr);
    self.slot = nullptr;
    self.wants_slot = self.channel.control != nullptr;
    g_counters.store(&g_private_counters, std::memory_order_release);
    memset(static_cast<void*>(&g_private_counters), 0, sizeof(g_private_counters));
    for (ThreadRecord* thread = self.threads; thread != nullptr; thread = thread->next) {
        forget_thread(thread);
        thread->lane = nullptr;
        if (thread != t_record) thread->in_use = false;
    }
    saver_after_fork_in_child();
    topology_after_fork_in_child();
}

void release_thread_record(void* record) {
    auto* thread = static_cast<ThreadRecord*>(record);
    const ProcessLock lock;
    forget_thread(thread);
    thread->in_use = false;
    t_record = nullptr;
}

void start(Process& self) {
    self.started = true;
    const char* config_path = environment_config_path();
    if (*config_path == '\0') {
        g_control_word.store(&kNoChannelWord, std::memory_order_release);
        return;
    }
    g_is_probed.store(true, std::memory_order_release);
    self.config_path = new std::string(config_path);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    attach(self);
}

// ---- programs ----

void free_unused_programs(Process& self) {
    Program** link = &self.retired;
    while (*link != nullptr) {
        Program* program = *link;
        bool named = false;
        for (ThreadRecord* thread = self.threads; thread != nullptr && !named; thread = thread->next)
            named = thread->program == program;
        if (named) {
            link = &program->next_retired;
            continue;
        }
        *link = program->next_retired;
        free(program->image);
        delete program;
    }
}

void put_in_force(Process& self, Program* program) {
    if (self.program != nullptr) {
        self.program->next_retired = self.retired;
        self.retired = self.program;
    }
    self.program = program;
    g_is_dumping.store(program->view.program->dump_enable != 0, std::memory_order_release);
}

void note_generation(const Process& self, uint64_t seen, Verdict verdict) {
    if (self.slot == nullptr) return;
    self.slot->device.store(current_device(), std::memory_order_relaxed);
    if (verdict == Verdict::kOk) self.slot->generation.store(seen, std::memory_order_release);
    self.slot->verdict.store(static_cast<uint32_t>(verdict), std::memory_order_relaxed);
    self.slot->generation_seen.store(seen, std::memory_order_release);
}

// Reads and verifies one generation. A negative errno if it could not be read at all.
int load_program(const Process& self, uint64_t generation, Program** loaded, Verdict* verdict) {
    ImageCopy copy;
    const int error = channel_read_image(self.channel, generation, &copy);
    if (error != 0) return error;
    auto* program = new Program{};
    program->image = copy.bytes;
    *verdict = verify_image(copy.bytes, copy.size, &program->view);
    if (*verdict == Verdict::kOk && program->view.generation != generation) *verdict = Verdict::kBadHeader;
    if (*verdict == Verdict::kOk) {
        *loaded = program;
        return 0;
    }
    free(copy.bytes);
    delete program;
    return 0;
}

uint64_t control_word() { return g_control_word.load(std::memory_order_acquire)->load(std::memory_order_acquire); }

void take_generation(Process& self, uint64_t generation) {
    Program* program = nullptr;
    Verdict verdict = Verdict::kOk;
    const int error = load_program(self, generation, &program, &verdict);
    if (error != 0 && control_word() != generation) return;  // replaced while it was read
    if (program == nullptr) {
        const char* reason = error != 0 ? strerror(-error) : verdict_name(verdict);
        log_message(LogLevel::kError, "rules of generation %llu refused (%s); the last good rules stay in force",
                    static_cast<unsigned long long>(generation), reason);
        note_generation(self, generation, error != 0 ? Verdict::kTooShort : verdict);
        return;
    }
    const bool was_enabled = self.program != nullptr && self.program->view.program->dump_enable != 0;
    put_in_force(self, program);
    note_generation(self, generation, Verdict::kOk);
    if (!was_enabled && program->view.program->dump_enable != 0) saver_announce();
}

// Brings the process to what the control word says. A newer word may come while an image is read, and the image of
// the older one is then gone: the newer one is read instead.
void follow_control_word(Process& self) {
    for (int tries = 0; tries < kReadTries; ++tries) {
        const uint64_t word = control_word();
        if (word == self.generation) return;
        if (word == kChannelClosed) {
            self.generation = 0;  // whatever the next channel holds is new
            attach(self);
            continue;
        }
        self.generation = word;
        if (word != 0) take_generation(self, word);
    }
}

void take_lane(const Process& self, ThreadRecord* thread) {
    if (self.slot == nullptr || thread->lane != nullptr) return;
    const uint32_t lane = self.slot->lanes_used.fetch_add(1, std::memory_order_relaxed);
    thread->lane_is_shared = lane >= kLaneCount - 1;
    thread->lane = &self.slot->lanes[thread->lane_is_shared ? kLaneCount - 1 : lane];
}

}  // namespace

const std::atomic<uint64_t> kNotStartedWord{kNotStarted};
std::atomic<const std::atomic<uint64_t>*> g_control_word{&kNotStartedWord};
__thread ThreadRecord* t_record = nullptr;

ProcessCounters& process_counters() { return *g_counters.load(std::memory_order_acquire); }

bool process_is_probed() { return g_is_probed.load(std::memory_order_acquire); }

bool process_is_dumping() { return g_is_dumping.load(std::memory_order_acquire); }

ThreadRecord* make_thread_record() {
    Process& self = g_process;
    const ProcessLock lock;
    if (self.thread_end == 0) pthread_key_create(&self.thread_end, release_thread_record);
    ThreadRecord* thread = self.threads;
    while (thread != nullptr && thread->in_use) thread = thread->next;
    if (thread == nullptr) {
        thread = static_cast<ThreadRecord*>(calloc(1, sizeof(ThreadRecord)));
        if (thread == nullptr) return nullptr;
        thread->next = self.threads;
        self.threads = thread;
    }
    thread->in_use = true;
    thread->generation = kNotTaken;
    pthread_setspecific(self.thread_end, thread);
    t_record = thread;
    return thread;
}

namespace {

void take_program_locked(Process& self, ThreadRecord* thread) {
    const ProcessLock lock;
    try {
        if (!self.started) start(self);
        if (self.wants_slot) take_slot(self);
        follow_control_word(self);
    } catch (const std::bad_alloc&) {
        log_message(LogLevel::kError, "out of memory while taking new rules; the last good rules stay in force");
    }
    take_lane(self, thread);
    thread->chain.forget_questions();
    thread->program = self.program;
    thread->generation = self.generation;
    free_unused_programs(self);
}

}  // namespace

void take_current_program(ThreadRecord* thread) {
    take_program_locked(g_process, thread);
    // Not under the lock, which every other thread would wait for as long as the disk is slow.
    if (process_is_dumping()) topology_dumping_is_on();
}

void count_operation(ThreadRecord* thread) {
    if (thread->lane == nullptr) return;
    std::atomic<uint64_t>& counter = thread->lane->ops_seen;
    if (thread->lane_is_shared) {
        add_relaxed(counter, 1);
    } else {
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
}

void count_selected(uint64_t rules) {
    ProcessCounters& counters = process_counters();
    add_relaxed(counters.ops_selected, 1);
    for (; rules != 0; rules &= rules - 1) add_relaxed(counters.hits[__builtin_ctzll(rules)], 1);
}

}  // namespace atbprobe
