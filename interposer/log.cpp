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
constexpr size_t kMaxLine = 4 * kMaxText + 64;  // were every character escaped

char* append_escaped(char* end, const char* text) {
    constexpr char kDigits[] = "0123456789abcdef";
    for (; *text != '\0'; ++text) {
        const unsigned byte = static_cast<unsigned char>(*text);
        if (byte >= 0x20 && byte != 0x7f) {
            *end++ = *text;
            continue;
        }
        *end++ = '\\';
        *end++ = 'x';
        *end++ = kDigits[byte >> 4U];
        *end++ = kDigits[byte & 15U];
    }
    return end;
}

void write_line(LogLevel level, const char* format, va_list arguments) {
    char text[kMaxText];
    const int wanted = std::vsnprintf(text, sizeof text, format, arguments);
    if (wanted < 0) return;
    char line[kMaxLine];
    int head = std::snprintf(line, sizeof line, "[atbprobe] %s: ", kLevelNames[static_cast<int>(level)]);
    char* end = append_escaped(line + head, text);
    if (static_cast<size_t>(wanted) >= sizeof text) {
        std::memcpy(end, "...", 3);
        end += 3;
    }
    *end++ = '\n';
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
