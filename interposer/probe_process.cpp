#include "probe_process.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "clock_nanoseconds.h"
#include "device.h"
#include "environment.h"
#include "listing_format.h"
#include "notices.h"
#include "operation_counts.h"
#include "process_lock.h"
#include "process_slot.h"
#include "saver/saver.h"
#include "thread_listing.h"
#include "topology/topology.h"
#include "watcher_life.h"

namespace atbprobe {
namespace {

constexpr std::atomic<uint64_t> kNoChannelWord{0};
constexpr std::atomic<uint64_t> kTryAgainWord{kNotStarted};

constexpr int kReadTries = 3;
constexpr uint64_t kRetryNanoseconds = 100'000'000;

struct Process {
    bool started = false;
    bool wants_channel = false;
    bool wants_slot = false;
    bool has_inherited = false;  // from the parent of a fork
    bool has_complained_of_channel = false;
    bool has_complained_of_slots = false;
    std::string* config_path = nullptr;
    std::string* folder = nullptr;  // of the channel
    Channel channel;
    ProcessSlot* slot = nullptr;
    uint64_t slot_epoch = 0;           // counts the slots that this process has had
    uint64_t generation = 0;           // the control word when `program` was last looked for
    uint64_t generation_in_force = 0;  // that of `program`, in this channel
    int32_t device = -1;
    Program* program = nullptr;
    Program* retired = nullptr;
};

// Constant-initialised and trivially destructible: probe functions are called until the very end.
Process g_process;
ProcessCounters g_private_counters;
std::atomic<ProcessCounters*> g_counters{&g_private_counters};
std::atomic<bool> g_is_probed{false};
std::atomic<bool> g_is_dumping{false};
std::atomic<uint64_t> g_retry_at{0};  // on the monotonic clock; 0: nothing has failed

// What may be over in a moment: the process is out of descriptors or memory, a folder was just taken away.
bool may_pass(int error) {
    for (const int passing : {EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, ENOENT, ENOSPC, EIO}) {
        if (error == -passing) return true;
    }
    return false;
}

void try_again_later() {
    g_retry_at.store(clock_nanoseconds(CLOCK_MONOTONIC) + kRetryNanoseconds, std::memory_order_relaxed);
}

bool is_too_early() {
    const uint64_t retry_at = g_retry_at.load(std::memory_order_relaxed);
    return __builtin_expect(retry_at != 0, 0) && clock_nanoseconds(CLOCK_MONOTONIC) < retry_at;
}

uint64_t control_word() { return g_control_word.load(std::memory_order_acquire)->load(std::memory_order_acquire); }

// ---- the slot ----

void note_generation(const Process& self, uint64_t seen, Verdict verdict) {
    if (self.slot == nullptr) return;
    self.slot->device.store(self.device, std::memory_order_relaxed);
    self.slot->generation.store(self.generation_in_force, std::memory_order_release);
    self.slot->verdict.store(static_cast<uint32_t>(verdict), std::memory_order_relaxed);
    self.slot->generation_seen.store(seen, std::memory_order_release);
}

void take_slot(Process& self, Notices* notices) {
    self.slot = claim_slot(self.channel.slots);
    self.wants_slot = self.slot == nullptr;
    ++self.slot_epoch;
    g_counters.store(self.slot == nullptr ? &g_private_counters : &self.slot->counters, std::memory_order_release);
    note_generation(self, self.generation_in_force, Verdict::kOk);
    if (self.slot == nullptr && !self.has_complained_of_slots) {
        self.has_complained_of_slots = true;
        notices->add(LogLevel::kWarning,
                     "all %u process slots are taken: this process works but status does not show it", kSlotCount);
    }
}

void take_lane(const Process& self, ThreadRecord* thread) {
    if (thread->lane_epoch == self.slot_epoch) return;
    thread->lane_epoch = self.slot_epoch;
    move_to_bell(thread, self.slot == nullptr ? nullptr : &self.slot->mailbox[kBellPlace]);
    if (self.slot == nullptr) return move_to_lane(thread, nullptr, false);
    const uint32_t lane = self.slot->lanes_used.fetch_add(1, std::memory_order_relaxed);
    const bool is_shared = lane >= kLaneCount - 1;
    move_to_lane(thread, &self.slot->lanes[is_shared ? kLaneCount - 1 : lane], is_shared);
}

// ---- the channel ----

void complain_of_channel(Process& self, int error, Notices* notices) {
    if (self.has_complained_of_channel) return;
    self.has_complained_of_channel = true;
    const char* reason = strerror(-error);
    if (error == -EPROTO) reason = "it is damaged or of another version";
    if (error == -EINVAL) reason = "ATBPROBE_RUNTIME_DIR is no absolute path";
    notices->add(LogLevel::kError, "no rules can reach this process: cannot use the channel %s: %s",
                 self.folder->c_str(), reason);
}

// Threads must not go by the word that they know: another one may come to say the same.
void watch_control_word(const std::atomic<uint64_t>* word) {
    for (ThreadRecord* thread = all_thread_records(); thread != nullptr; thread = thread->next)
        thread->word.store(&kReplacedWord, std::memory_order_relaxed);
    g_control_word.store(word, std::memory_order_release);
}

void attach(Process& self, Notices* notices) {
    Channel channel;
    int error = channel_folder_of(environment_runtime_folder(), self.config_path->c_str(), self.folder);
    if (error == 0) error = channel_open(self.folder->c_str(), IfMissing::kCreate, &channel);
    self.wants_channel = error != 0 && may_pass(error);
    if (error != 0) {
        complain_of_channel(self, error, notices);
        if (self.wants_channel) try_again_later();
        watch_control_word(self.wants_channel ? &kTryAgainWord : &kNoChannelWord);
        return;
    }
    // An earlier channel stays mapped: other threads may be reading its control word.
    self.channel = channel;
    self.generation = 0;
    self.generation_in_force = 0;
    take_slot(self, notices);
    watch_life_of_watcher(*self.channel.control);
    watch_control_word(&self.channel.control->generation);
}

// The child keeps the mapping and the program, and needs a slot of its own. Other threads are not there any more.
void after_fork_in_child() {
    Process& self = g_process;
    self.slot = nullptr;
    ++self.slot_epoch;
    self.wants_slot = self.channel.control != nullptr;
    self.has_inherited = true;
    g_counters.store(&g_private_counters, std::memory_order_release);
    memset(static_cast<void*>(&g_private_counters), 0, sizeof(g_private_counters));
    for (ThreadRecord* thread = all_thread_records(); thread != nullptr; thread = thread->next) {
        thread->chain.forget_everything(thread == t_record);
        thread->program = nullptr;
        thread->generation = kNotTaken;
        thread->lane = nullptr;  // it is in the parent's slot
        thread->open_in_lane = 0;
        forget_listing(thread);
        if (thread != t_record) thread->in_use = false;
    }
    saver_after_fork_in_child();
    topology_after_fork_in_child();
    watcher_life_after_fork_in_child();
}

// ---- programs ----

void free_unused_programs(Process& self) {
    Program** link = &self.retired;
    while (*link != nullptr) {
        Program* program = *link;
        bool named = false;
        for (ThreadRecord* thread = all_thread_records(); thread != nullptr && !named; thread = thread->next)
            named = thread->program == program;
        named = named || program->operations_open.load(std::memory_order_acquire) != 0;
        if (named) {
            link = &program->next_retired;
            continue;
        }
        *link = program->next_retired;
        free_program(program);
    }
}

// What a forked child has inherited is new in its process, and what its parent had counted is not the child's.
void take_over_from_parent(Process& self, Notices* notices) {
    if (!self.has_inherited) return;
    self.has_inherited = false;
    if (self.program != nullptr && self.program->executions != nullptr) self.program->executions->clear();
    if (self.program != nullptr && self.program->budgets != nullptr) self.program->budgets->clear();
    notices->dumping_is_on = process_is_dumping();
}

void put_in_force(Process& self, Program* program) {
    if (self.program != nullptr) {
        self.program->next_retired = self.retired;
        self.retired = self.program;
    }
    self.program = program;
    self.generation_in_force = program->view.generation;
    g_is_dumping.store(program->view.program->dump_enable != 0, std::memory_order_release);
    for (auto& counter : process_counters().hits) counter.store(0, std::memory_order_relaxed);
}

void take_generation(Process& self, uint64_t generation, Notices* notices) {
    Program* program = nullptr;
    Verdict verdict = Verdict::kUnreadable;
    const int error = load_program(self.folder->c_str(), generation, &program, &verdict);
    if (error != 0 && control_word() != generation) return;  // replaced while it was read
    // Between two steps of taking the channel away.
    if (error == -ENOENT && !channel_is_in_place(self.folder->c_str(), self.channel)) return attach(self, notices);
    if (error != 0 && may_pass(error) && error != -ENOENT) {
        try_again_later();
        return;
    }
    self.generation = generation;
    if (program == nullptr) {
        notices->add(LogLevel::kError, "rules of generation %llu refused (%s); the last good rules stay in force",
                     static_cast<unsigned long long>(generation),
                     error != 0 ? strerror(-error) : verdict_name(verdict));
        note_generation(self, generation, verdict);
        return;
    }
    const bool was_dumping = process_is_dumping();
    put_in_force(self, program);
    note_generation(self, generation, Verdict::kOk);
    notices->add(LogLevel::kInfo, "rules of generation %llu are in force", static_cast<unsigned long long>(generation));
    notices->dumping_is_on = !was_dumping && process_is_dumping();
}

// Brings the process to what the control word says. A newer word may come while an image is read, and the image of
// the older one is then gone: the newer one is read instead.
void follow_control_word(Process& self, Notices* notices) {
    for (int tries = 0; tries < kReadTries && !is_too_early(); ++tries) {
        const uint64_t word = control_word();
        if (word == kChannelClosed) {
            attach(self, notices);
        } else if (word == 0) {
            self.generation = 0;  // nothing was published in this channel; what is in force stays
            return;
        } else if (word > kLargestGeneration || word == self.generation) {
            return;
        } else {
            take_generation(self, word, notices);
        }
    }
}

// ---- the start ----

// Rules without a channel. Whatever is wrong with the file, it is said once, and nothing is ever dumped here.
void take_image_file(Process& self, const char* path, Notices* notices) {
    ImageCopy copy;
    const ImageFault fault = read_image_file(path, &copy);
    Program* program = nullptr;
    Verdict verdict = Verdict::kUnreadable;
    const char* reason = fault.text;
    if (*reason == '\0') {
        const int error = make_program(copy, &program, &verdict);
        if (program == nullptr) reason = error != 0 ? strerror(-error) : verdict_name(verdict);
    }
    if (program == nullptr) {
        notices->add(LogLevel::kError,
                     "nothing is dumped by this process: cannot use the rules of ATBPROBE_IMAGE=%.150s: %s", path,
                     reason);
        return;
    }
    put_in_force(self, program);
    notices->dumping_is_on = process_is_dumping();
    notices->add(LogLevel::kInfo, "the rules of %s are in force", path);
}

// The control word comes last, since by it other threads know that there is nothing more to wait for: one that asked in
// between and was told that nothing is ever dumped here would remember it.
void start(Process& self, Notices* notices) {
    const char* image_path = environment_image_path();
    const char* config_path = environment_config_path();
    const bool has_image = *image_path != '\0';
    self.wants_channel = !has_image && *config_path != '\0';
    if (has_image) take_image_file(self, image_path, notices);
    const bool is_probed = self.wants_channel || self.program != nullptr;
    g_is_probed.store(is_probed, std::memory_order_release);
    if (is_probed) call_in_forked_child(after_fork_in_child);
    if (self.wants_channel) {
        if (self.config_path == nullptr) self.config_path = new std::string(config_path);
        if (self.folder == nullptr) self.folder = new std::string();
    } else {
        watch_control_word(&kNoChannelWord);
    }
    self.started = true;
}

void take_program(Process& self, ThreadRecord* thread, Notices* notices) {
    g_retry_at.store(0, std::memory_order_relaxed);
    try {
        if (!self.started) start(self, notices);
        take_over_from_parent(self, notices);
        if (self.wants_channel) attach(self, notices);
        if (self.wants_slot) take_slot(self, notices);
        follow_control_word(self, notices);
    } catch (const std::exception&) {
        try_again_later();
        notices->add(LogLevel::kError, "out of memory while taking new rules; the last good rules stay in force");
    }
    take_lane(self, thread);
    thread->chain.forget_questions();
    thread->program = self.program;
    thread->rounds.begin();
    thread->has_new_rules = process_is_dumping();
    thread->word.store(g_control_word.load(std::memory_order_acquire), std::memory_order_relaxed);
    thread->generation = self.generation;
    free_unused_programs(self);
}

}  // namespace

const std::atomic<uint64_t> kNotStartedWord{kNotStarted};
std::atomic<const std::atomic<uint64_t>*> g_control_word{&kNotStartedWord};

ProcessCounters& process_counters() { return *g_counters.load(std::memory_order_acquire); }

bool process_is_probed() { return g_is_probed.load(std::memory_order_acquire); }

bool process_is_dumping() { return g_is_dumping.load(std::memory_order_acquire); }

const char* channel_folder_in_use() { return g_process.folder == nullptr ? "" : g_process.folder->c_str(); }

ThreadRecord* take_current_program() {
    if (is_too_early()) return t_record;
    ThreadRecord* const thread = t_record != &g_no_thread ? t_record : make_thread_record();
    if (thread == &g_no_thread) return thread;
    // Asked of the host's own code and of the loader, both of which may hold locks of theirs: not under ours.
    const int32_t device = *environment_config_path() == '\0' ? -1 : current_device();
    Notices notices;
    {
        const ProcessLock lock;
        if (!lock.is_taken()) return thread;
        g_process.device = device;
        take_program(g_process, thread, &notices);
    }
    const KeptErrno kept_errno;
    notices.say();
    if (notices.dumping_is_on) saver_announce();
    if (process_is_dumping()) topology_dumping_is_on();
    return thread;
}

}  // namespace atbprobe
