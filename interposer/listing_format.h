// How operations are listed on request: the names and records that the asking command and the processes share. Wire
// definitions only; no behaviour. The other side is engine/atbprobe_rules/ops_request.py and listing_records.py.
//
// A request is a private folder in the channel's folder, `ops-<pid>-<start time>-<number>-<rounds>`, with the pid and
// the start time of whoever asks: it ends when the folder goes, and counts for nothing once they are dead. The bell in
// each process's slot says that there is one to look for. A thread answers by a file `<pid>-<thread id>` in it: the
// magic, then whole records, each a header and its content. Numbers are little-endian; a text is its length as a
// uint32_t, then its bytes.
//
//   kOperation, kKernel   uint64_t round; text dir
//                         The host has asked for the directory: the op is about to run, or, where nothing was seen of
//                         it before, has just run.
//   kOperationTensors     uint64_t round; text dir; text path; text name; uint32_t inputs; uint32_t outputs;
//   kKernelTensors        for each of them: text dtype, text format, text shape
//                         What the host has reported of the op that it asked about last, by `dir` (empty: it did not
//                         ask about one of this kind). `path` is the file of the first tensor that has one; for a
//                         kernel it lies in the directory of the operation that calls it.
//   kEnd                  uint32_t reason; the answer is finished.
#pragma once

#include <cstddef>
#include <cstdint>

namespace atbprobe {

inline constexpr char kListingMagic[8] = {'A', 'T', 'B', 'R', 'O', 'P', 'S', '1'};
inline constexpr size_t kBellPlace = 0;  // in the mailbox of a slot; it counts requests
inline constexpr uint64_t kMostListedRounds = 1000;
inline constexpr size_t kMaxListingBytes = size_t{64} << 20U;  // of all answers that a process is writing

enum class ListingRecord : uint32_t {
    kOperation = 1,
    kKernel = 2,
    kOperationTensors = 3,
    kKernelTensors = 4,
    kEnd = 5,
};

enum class ListingEnd : uint32_t {
    kComplete = 0,
    kThreadEnded = 1,  // before its rounds were over
    kTooLarge = 2,
};

struct ListingRecordHeader {
    uint32_t kind;
    uint32_t bytes;  // of the content
};

static_assert(sizeof(ListingRecordHeader) == 8);

}  // namespace atbprobe
