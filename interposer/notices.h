// Messages and duties that came up under the process lock, kept for after it: a message can block on a full pipe, and
// every other thread would wait for it.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include "log.h"

namespace atbprobe {

class Notices {
  public:
    __attribute__((format(printf, 3, 4))) void add(LogLevel level, const char* format, ...) {
        if (count_ == kMost) return;
        Notice& notice = notices_[count_++];
        notice.level = level;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(notice.text, sizeof(notice.text), format, arguments);
        va_end(arguments);
    }

    void say() const {
        for (size_t i = 0; i < count_; ++i) log_message(notices_[i].level, "%s", notices_[i].text);
    }

    // Dumping has become enabled.
    bool dumping_is_on = false;

  private:
    static constexpr size_t kMost = 4;
    struct Notice {
        LogLevel level;
        char text[384];
    };
    Notice notices_[kMost];
    size_t count_ = 0;
};

}  // namespace atbprobe
