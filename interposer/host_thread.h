// What must be as before when a thread of the host comes back from us: its errno, its signals, its floating-point
// mode. Each guard restores one of them when it goes out of scope.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstdint>
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

// A thread that were cancelled inside of us would take our locks with it, and be unwound through our functions by the
// host's copy of the unwinder and by ours in turn. It is cancelled when it is back in the host.
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

// Statistics need the default rounding and real subnormal numbers, whatever the host has switched on for speed. The
// mode register is read and written here because <fenv.h> would map libm into every process, for two instructions.
class DefaultFloats {
  public:
    DefaultFloats() : kept_(mode()) { set_mode(kDefaultMode); }
    ~DefaultFloats() { set_mode(kept_); }
    DefaultFloats(const DefaultFloats&) = delete;
    DefaultFloats& operator=(const DefaultFloats&) = delete;

  private:
#if defined(__x86_64__)
    using Mode = unsigned;
    static constexpr Mode kDefaultMode = 0x1f80;  // MXCSR: to nearest, nothing trapped, subnormals kept
    static Mode mode() { return __builtin_ia32_stmxcsr(); }
    static void set_mode(Mode mode) { __builtin_ia32_ldmxcsr(mode); }
#elif defined(__aarch64__)
    using Mode = uint64_t;
    static constexpr Mode kDefaultMode = 0;  // FPCR: likewise
    static Mode mode() {
        Mode mode = 0;
        asm volatile("mrs %0, fpcr" : "=r"(mode));
        return mode;
    }
    static void set_mode(Mode mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
#error "reading and writing the floating-point mode is not known for this machine"
#endif

    Mode kept_;
};

}  // namespace atbprobe
