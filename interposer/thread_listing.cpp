#include "thread_listing.h"

#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "host_thread.h"
#include "log.h"
#include "probe_process.h"
#include "process_lock.h"

namespace atbprobe {
namespace {

LogOnce g_failure;

void drop(ThreadRecord* thread, uint64_t bell_heard) {
    delete thread->listing;
    thread->listing = nullptr;
    thread->bell_heard = bell_heard;
}

void fail(ThreadRecord* thread, const char* reason) {
    const KeptErrno kept_errno;
    drop(thread, thread->bell->load(std::memory_order_relaxed));  // not before the next request
    log_once(g_failure, LogLevel::kWarning, "operations cannot be listed: %s", reason);
}

// After a listing that is over there may be another request to answer.
void after_step(ThreadRecord* thread) {
    if (!thread->listing->is_over()) return;
    const int failure = thread->listing->failure();
    if (failure != 0) return fail(thread, strerror(failure));
    drop(thread, kListening);
}

// `step` goes on with the thread's listing, which it may end.
template <typename Step>
bool with_listing(ThreadRecord* thread, const Step& step) {
    try {
        const bool answer = step(*thread->listing);
        after_step(thread);
        return answer;
    } catch (const std::exception&) {
        fail(thread, "out of memory");
        return false;
    }
}

// What was remembered of earlier questions would answer the next ones before they get here.
void take_every_question(ThreadRecord* thread) {
    thread->chain.forget_remembered();
    thread->chain.set_news(true);
}

void look_for_request(ThreadRecord* thread) {
    // Before the search, so that who rings after it is heard.
    const uint64_t bell = thread->bell->load(std::memory_order_acquire);
    try {
        ListingRequest request;
        std::string folder;
        bool found = false;
        {
            const ProcessLock lock;
            if (!lock.is_taken()) return;
            folder = channel_folder_in_use();
            found = find_listing_request(folder.c_str(), &request);
        }
        thread->bell_heard = bell;
        if (!found) return;
        thread->listing = new OpsListing(request, std::move(folder));
        thread->bell_heard = kListening;
    } catch (const std::exception&) {
        fail(thread, "out of memory");
    }
}

}  // namespace

const std::atomic<uint64_t> kSilentBell{0};

void move_to_bell(ThreadRecord* thread, const std::atomic<uint64_t>* bell) {
    thread->bell = bell != nullptr ? bell : &kSilentBell;
    if (thread->listing == nullptr) thread->bell_heard = 0;
}

bool list_executed(ThreadRecord* thread) noexcept {
    if (thread->listing == nullptr) {
        look_for_request(thread);
        if (thread->listing != nullptr) take_every_question(thread);
        return false;
    }
    const bool wanted = with_listing(thread, [](OpsListing& listing) { return listing.executed(); });
    // The host asks for the pass while it puts the report together, which belongs to no chain.
    if (wanted) thread->chain.end_chain();
    return wanted;
}

bool list_round(ThreadRecord* thread, uint64_t round) noexcept {
    if (thread->listing == nullptr) look_for_request(thread);
    if (thread->listing == nullptr) return false;
    take_every_question(thread);
    thread->listing->round_asked(round);
    return true;
}

bool list_dir(ThreadRecord* thread, const char* dir, size_t length) noexcept {
    return with_listing(thread, [=](OpsListing& listing) { return listing.dir_asked({dir, length}); });
}

bool list_pass(ThreadRecord* thread, Pass pass) noexcept {
    return with_listing(thread, [=](OpsListing& listing) { return listing.pass_asked(pass); });
}

void list_tensors(ThreadRecord* thread, const IoReport& report) noexcept {
    if (thread->listing == nullptr) return;
    with_listing(thread, [&](OpsListing& listing) {
        listing.report(report);
        return false;
    });
}

void end_listing(ThreadRecord* thread) noexcept {
    if (thread->listing != nullptr) {
        with_listing(thread, [](OpsListing& listing) {
            listing.thread_ends();
            return false;
        });
        delete thread->listing;
        thread->listing = nullptr;
    }
    thread->bell_heard = kListening;  // a thread that gets this record looks for itself
}

}  // namespace atbprobe
