#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "acl_runtime.h"

namespace atbprobe::standin {

namespace {

void sleep_between_steps(int64_t milliseconds) {
    if (milliseconds > 0) {
        const timespec duration{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
        nanosleep(&duration, nullptr);  // a signal ends it early, as it should
    }
}

// While it lives, new threads are made deaf to signals: those are for the main thread, whose waits they end.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &previous_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t previous_;
};

// Every context computes something of its own, so that no mix-up between them can hide.
ModelOptions of_context(ModelOptions model, size_t index) {
    model.seed += index;
    return model;
}

int32_t device_of(const Options& options, size_t index) { return options.devices[index % options.devices.size()]; }

}  // namespace

ExecuteThread::ExecuteThread(int32_t device) : thread_(&ExecuteThread::loop, this, device) {}

ExecuteThread::~ExecuteThread() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void ExecuteThread::run(const std::function<void()>& work) {
    std::unique_lock<std::mutex> lock(mutex_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
}

void ExecuteThread::loop(int32_t device) {
    aclrtSetDevice(device);
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return closed_ || work_ != nullptr; });
        if (work_ == nullptr) {
            return;
        }
        (*work_)();
        work_ = nullptr;
        changed_.notify_all();
    }
}

Worker::Worker(const Options& options, size_t index, HostCounters& counters, Expectation* expectation)
    : options_(options),
      index_(index),
      execute_thread_(options.model.execute_on_other_thread ? std::make_unique<ExecuteThread>(device_of(options, index))
                                                            : nullptr),
      context_(counters, expectation, options.fault ? &*options.fault : nullptr),
      model_(of_context(options.model, index), context_, [this](const std::function<void()>& work) {
          if (execute_thread_) {
              execute_thread_->run(work);
          } else {
              work();
          }
      }) {}

void Worker::run(uint64_t steps, const std::atomic<bool>& stop) {
    for (uint64_t i = 0; i < steps && !stop; ++i) {
        last_token_ = model_.step();
        ++steps_done_;
        print_step();
        sleep_between_steps(options_.interval_ms);
    }
}

void Worker::print_step() const {
    if (options_.quiet || options_.control) {
        return;
    }
    const std::string prefix = options_.threads > 1 ? "context " + std::to_string(index_) + " " : "";
    std::printf("%sstep %llu token %lld\n", prefix.c_str(), static_cast<unsigned long long>(steps_done_ - 1),
                static_cast<long long>(last_token_));
    std::fflush(stdout);
}

Session::Session(const Options& options) : options_(options) {
    if (!options_.expect_dir.empty()) {
        expectation_ = std::make_unique<Expectation>(options_.expect_dir);
    }
}

Session::~Session() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void Session::run(const std::atomic<bool>& stop) {
    aclrtSetDevice(device_of(options_, 0));
    {
        const SignalsBlocked blocked;
        main_worker_ = std::make_unique<Worker>(options_, 0, counters_, expectation_.get());
        for (size_t i = 1; i < static_cast<size_t>(options_.threads); ++i) {
            threads_.emplace_back([this, i, &stop] { worker_loop(i, stop); });
        }
    }
    if (options_.control) {
        run_control(stop);
    } else {
        run_steps(options_.forever ? std::numeric_limits<uint64_t>::max() : options_.steps, stop);
    }
}

void Session::run_control(const std::atomic<bool>& stop) {
    std::printf("ready %d\n", static_cast<int>(getpid()));
    std::fflush(stdout);
    const std::string step_command = "step ";
    char line[256];
    while (!stop && std::fgets(line, sizeof(line), stdin) != nullptr) {
        const std::string command(line);
        if (command == "quit\n") {
            return;
        }
        if (command == "report\n") {
            std::puts(report_json().c_str());
        } else if (command.compare(0, step_command.size(), step_command) == 0) {
            run_steps(std::strtoull(line + step_command.size(), nullptr, 10), stop);
            std::printf("done %llu\n", static_cast<unsigned long long>(steps_done_));
        } else {
            std::puts("error unknown command");
        }
        std::fflush(stdout);
    }
}

void Session::run_steps(uint64_t steps, const std::atomic<bool>& stop) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++round_;
        round_steps_ = steps;
        running_ = threads_.size();
        turn_ = 0;
    }
    changed_.notify_all();
    run_worker(*main_worker_, 0, steps, stop);
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
    steps_done_ = main_worker_->steps_done();
}

void Session::worker_loop(size_t index, const std::atomic<bool>& stop) {
    aclrtSetDevice(device_of(options_, index));
    Worker worker(options_, index, counters_, expectation_.get());
    std::unique_lock<std::mutex> lock(mutex_);
    for (uint64_t seen = 0;;) {
        changed_.wait(lock, [&] { return closed_ || round_ != seen; });
        if (round_ == seen) {
            return;
        }
        seen = round_;
        const uint64_t steps = round_steps_;
        lock.unlock();
        run_worker(worker, index, steps, stop);
        lock.lock();
        --running_;
        changed_.notify_all();
    }
}

void Session::run_worker(Worker& worker, size_t index, uint64_t steps, const std::atomic<bool>& stop) {
    const auto limit = static_cast<uint64_t>(options_.steps_in_turn);
    const uint64_t in_turn = std::min(steps, limit - std::min(limit, worker.steps_done()));
    if (in_turn > 0) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this, index] { return turn_ == index; });
        lock.unlock();
        worker.run(in_turn, stop);
        lock.lock();
        ++turn_;
        changed_.notify_all();
    }
    worker.run(steps - in_turn, stop);
}

std::string Session::report_json() const {
    const auto field = [](const char* name, uint64_t value) {
        return ",\"" + std::string(name) + "\":" + std::to_string(value);
    };
    return "{\"pid\":" + std::to_string(getpid()) + field("threads", static_cast<uint64_t>(options_.threads)) +
           field("steps", steps_done_) + field("last_token", static_cast<uint64_t>(main_worker_->last_token())) +
           field("setups", counters_.setups) + field("executes", counters_.executes) +
           field("device_to_host_copies", counters_.device_to_host_copies) +
           field("copied_bytes", counters_.copied_bytes) +
           field("stream_synchronisations", counters_.stream_synchronisations) + "}";
}

}  // namespace atbprobe::standin
