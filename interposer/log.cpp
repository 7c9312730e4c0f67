#include "log.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "environment.h"
#include "host_thread.h"

namespace atbprobe {
namespace {

constexpr const char* kLevelNames[] = {"DEBUG", "INFO", "WARNING", "ERROR", "FATAL"};
constexpr size_t kMaxText = 1500;
constexpr size_t kEndBytes = sizeof "...\n" - 1;
constexpr size_t kMaxLine = 32 + kMaxText + 256 + kEndBytes;  // with some characters escaped

// The text lies at the end of the buffer in which its escaped form grows from `out`; what would run into the text that
// is still to be read is left out. A second buffer would be much for a thread with a small stack.
char* escape(char* out, const char* text, bool* is_whole) {
    constexpr char kDigits[] = "0123456789abcdef";
    for (; *text != '\0'; ++text) {
        const unsigned byte = static_cast<unsigned char>(*text);
        if (byte >= 0x20 && byte != 0x7f) {
            *out++ = *text;
            continue;
        }
        if (text - out < 3) {
            *is_whole = false;
            return out;
        }
        *out++ = '\\';
        *out++ = 'x';
        *out++ = kDigits[byte >> 4U];
        *out++ = kDigits[byte & 15U];
    }
    return out;
}

void write_line(LogLevel level, const char* format, va_list arguments) {
    char line[kMaxLine];
    const int head = std::snprintf(line, sizeof line, "[atbprobe] %s: ", kLevelNames[static_cast<int>(level)]);
    char* const start = line + head;
    const int wanted = std::vsnprintf(start, kMaxText, format, arguments);
    if (wanted < 0) return;
    bool is_whole = static_cast<size_t>(wanted) < kMaxText;
    const size_t bytes = std::strlen(start) + 1;
    char* const text = line + sizeof line - kEndBytes - bytes;
    std::memmove(text, start, bytes);
    char* end = escape(start, text, &is_whole);
    if (!is_whole) {
        for (int dot = 0; dot < 3; ++dot) *end++ = '.';
    }
    *end++ = '\n';
    const NoCancellation no_cancellation;
    const BlockedSignals no_signal_of_a_closed_pipe;
    const char* rest = line;
    while (rest != end) {
        const ssize_t written = write(STDERR_FILENO, rest, static_cast<size_t>(end - rest));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        rest += written;
    }
}

}  // namespace

bool log_enabled(LogLevel level) { return static_cast<int>(level) >= environment_log_level(); }

void log_message(LogLevel level, const char* format, ...) {
    const KeptErrno errno_of_the_caller;
    if (!log_enabled(level)) return;
    va_list arguments;
    va_start(arguments, format);
    write_line(level, format, arguments);
    va_end(arguments);
}

bool LogOnce::first() {
    const auto self = static_cast<int32_t>(getpid());
    return said_by_.exchange(self, std::memory_order_relaxed) != self;
}

void log_once(LogOnce& cause, LogLevel level, const char* format, ...) {
    const KeptErrno errno_of_the_caller;
    if (!cause.first() || !log_enabled(level)) return;
    va_list arguments;
    va_start(arguments, format);
    write_line(level, format, arguments);
    va_end(arguments);
}

}  // namespace atbprobe
