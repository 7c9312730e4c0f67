// Requests to list operations, as a process finds them, and the file by which one thread answers one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace atbprobe {

// Plain memory. `folder_name` is the request's folder in the channel's folder.
struct ListingRequest {
    static constexpr size_t kMaxNameBytes = 96;
    char folder_name[kMaxNameBytes];
    uint32_t pid;         // of whoever asks
    uint64_t start_time;  // likewise
    uint64_t rounds;
};

// Finds a request in the channel's folder that the calling thread has not begun to answer. False if there is none.
bool find_listing_request(const char* channel_folder, ListingRequest* request);

// Appends to the calling thread's answer, which is made if `written`, its size so far, is 0. Nothing is kept open in
// between, since a host may close any descriptor. Returns 0 or a negative errno: -ESRCH if whoever asked is dead,
// -ENOENT if they wait no longer.
int append_to_answer(const std::string& channel_folder, const ListingRequest& request, const std::string& bytes,
                     size_t written);

}  // namespace atbprobe
