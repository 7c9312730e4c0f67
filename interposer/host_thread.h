// What must be as before when a thread of the host comes back from us: its errno, its signals, its floating-point
// mode. Each guard restores one of them when it goes out of scope.
#pragma once

#include <fenv.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace atbprobe {

class KeptErrno {
  public:
    KeptErrno() : value_(errno) {}
    ~KeptErrno() { errno = value_; }
    KeptErrno(const KeptErrno&) = delete;
    KeptErrno& operator=(const KeptErrno&) = delete;

  private:
    int value_;
};

// A thread that were cancelled inside of us would take our locks with it.
class NoCancellation {
  public:
    NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_); }
    ~NoCancellation() { pthread_setcancelstate(state_, nullptr); }
    NoCancellation(const NoCancellation&) = delete;
    NoCancellation& operator=(const NoCancellation&) = delete;

  private:
    int state_ = 0;
};

// Blocks all signals. Those that our own writes raise (SIGXFSZ at a file size limit, SIGPIPE) are taken away again:
// they would end a host that never wrote anything itself.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &mask_);
        sigpending(&pending_);
    }
    ~BlockedSignals() {
        for (const int raised : {SIGXFSZ, SIGPIPE}) {
            if (sigismember(&pending_, raised) == 1) continue;
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, raised);
            constexpr timespec kNow{0, 0};
            sigtimedwait(&one, nullptr, &kNow);
        }
        pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t mask_;
    sigset_t pending_;
};

// Statistics need the default rounding and real subnormal numbers, whatever the host has switched on for speed.
class DefaultFloats {
  public:
    DefaultFloats() {
        fegetenv(&kept_);
        fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloats() { fesetenv(&kept_); }
    DefaultFloats(const DefaultFloats&) = delete;
    DefaultFloats& operator=(const DefaultFloats&) = delete;

  private:
    fenv_t kept_;
};

}  // namespace atbprobe
