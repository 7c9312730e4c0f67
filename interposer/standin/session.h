// One run of the executable: a context with its model on each thread, stepped together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "context.h"
#include "decoder_model.h"
#include "expectation.h"
#include "options.h"

namespace atbprobe::standin {

// A thread that does one piece of work at a time, for hosts that execute elsewhere than they set up.
class ExecuteThread {
  public:
    explicit ExecuteThread(int32_t device);
    ~ExecuteThread();
    void run(const std::function<void()>& work);

  private:
    void loop(int32_t device);

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()>* work_ = nullptr;
    bool closed_ = false;
    std::thread thread_;
};

// A context and its model, made and used on one thread.
class Worker {
  public:
    Worker(const Options& options, size_t index, HostCounters& counters, Expectation* expectation);

    // Runs that many steps, fewer if `stop` becomes true.
    void run(uint64_t steps, const std::atomic<bool>& stop);
    uint64_t steps_done() const { return steps_done_; }
    int64_t last_token() const { return last_token_; }

  private:
    void print_step() const;

    const Options& options_;
    size_t index_;
    std::unique_ptr<ExecuteThread> execute_thread_;
    Context context_;
    DecoderModel model_;
    uint64_t steps_done_ = 0;
    int64_t last_token_ = 0;
};

class Session {
  public:
    explicit Session(const Options& options);
    ~Session();

    // Until the steps are done, `quit` or the end of stdin is read, or `stop` becomes true.
    void run(const std::atomic<bool>& stop);
    std::string report_json() const;

  private:
    void run_control(const std::atomic<bool>& stop);
    void run_steps(uint64_t steps, const std::atomic<bool>& stop);
    void worker_loop(size_t index, const std::atomic<bool>& stop);
    void run_worker(Worker& worker, size_t index, uint64_t steps, const std::atomic<bool>& stop);

    const Options options_;
    HostCounters counters_;
    std::unique_ptr<Expectation> expectation_;

    // Thread 0 is the caller's; the others wait for rounds of steps.
    std::mutex mutex_;
    std::condition_variable changed_;
    uint64_t round_ = 0;
    uint64_t round_steps_ = 0;
    size_t running_ = 0;
    size_t turn_ = 0;  // the context that may do steps that are to be done in turn
    bool closed_ = false;
    std::vector<std::thread> threads_;
    std::unique_ptr<Worker> main_worker_;
    uint64_t steps_done_ = 0;
};

}  // namespace atbprobe::standin
