// Messages to the user of the host: one line each on stderr, one write(2) a line, never on stdout.
//
// A line is bounded and its control characters are escaped, since names of operations and paths come from outside.
// A full pipe behind stderr makes the writing thread wait, as any print of the host itself would.
#pragma once

#include <atomic>
#include <cstdint>

namespace atbprobe {

// The numbers are those of ATB_AIT_LOG_LEVEL; 5 silences all.
enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kFatal = 4 };

bool log_enabled(LogLevel level);

// printf style; no newline at the end. errno is left as it was.
void log_message(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

// One cause that is worth one message in each process. To be a static object: it needs no constructor at load, and a
// forked child, which is another process, may say it again.
class LogOnce {
  public:
    constexpr LogOnce() = default;
    LogOnce(const LogOnce&) = delete;
    LogOnce& operator=(const LogOnce&) = delete;

    // True for the first caller in this process, false for all others.
    bool first();

  private:
    std::atomic<int32_t> said_by_{0};
};

// log_message, if `cause` was not yet said. A message that the log level hides counts as said.
void log_once(LogOnce& cause, LogLevel level, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace atbprobe
