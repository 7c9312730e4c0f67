// The one lock of the slow way, and what a host may do to whoever holds it.
//
// While it is held, the thread takes no signal (a handler may fork, or ask a question itself), cannot be cancelled (it
// would take the lock with it), and gets its errno back. It is held across fork, so that a child finds everything
// whole. Handlers that other libraries run around a fork may ask questions, too, or fork again: on a thread that is
// inside already the lock is not taken a second time, and who wanted it goes on with what there is.
#pragma once

#include "host_thread.h"

namespace atbprobe {

class ProcessLock {
  public:
    ProcessLock();
    ~ProcessLock();
    ProcessLock(const ProcessLock&) = delete;
    ProcessLock& operator=(const ProcessLock&) = delete;

    // False on a thread that was inside already.
    bool is_taken() const { return is_taken_; }

  private:
    KeptErrno kept_errno_;
    NoCancellation no_cancellation_;
    BlockedSignals blocked_signals_;
    bool is_taken_;
};

// `in_child` is called in every child that is forked from now on, which is then inside.
void call_in_forked_child(void (*in_child)());

}  // namespace atbprobe
