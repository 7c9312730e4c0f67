// What Python calls, without its lock, for files of any size: engine/atbprobe_rules/compare/native_loop.py has the same
// structs.
#include "pair_loop.h"
#include "saver/read_fully.h"

namespace {

enum class Side : uint32_t { kNone, kGolden, kTarget };

// `error` is an errno; 0 if the file ends at `offset`, before all of its data.
struct ReadFailure {
    Side side;
    int32_t error;
    uint64_t offset;
};

static_assert(sizeof(ReadFailure) == 16);

bool fill(Side side, int file, uint64_t offset, std::byte* room, size_t bytes, ReadFailure* failure) {
    size_t done = 0;
    const int error = atbprobe::read_fully(file, room, bytes, static_cast<off_t>(offset), &done);
    if (error == 0 && done == bytes) return true;
    *failure = {side, error, offset + done};
    return false;
}

}  // namespace

// Adds `count` elements of two files from their offsets on, read in parts that fit half of `room`. False, with
// `failure`, if one cannot be read; for a type that is not computed here `failure` is of no side.
extern "C" __attribute__((visibility("default"))) bool atbprobe_add_files(
    const atbprobe::ElementForm* form, int golden, uint64_t golden_offset, int target, uint64_t target_offset,
    uint64_t count, void* room, uint64_t room_bytes, atbprobe::PairSums* sums, ReadFailure* failure) {
    const size_t bits = atbprobe::element_bits(*form);
    *failure = {Side::kNone, 0, 0};
    if (bits == 0) return false;
    const uint64_t half = room_bytes / 2;
    const uint64_t most = half * 8 / bits / 8 * 8;  // so that a part ends with a whole byte
    auto* golden_room = static_cast<std::byte*>(room);
    std::byte* target_room = golden_room + half;
    for (uint64_t done = 0; done < count;) {
        const uint64_t left = count - done;
        const uint64_t part = left < most ? left : most;
        const auto bytes = static_cast<size_t>((part * bits + 7) / 8);
        const uint64_t offset = done * bits / 8;
        if (!fill(Side::kGolden, golden, golden_offset + offset, golden_room, bytes, failure)) return false;
        if (!fill(Side::kTarget, target, target_offset + offset, target_room, bytes, failure)) return false;
        atbprobe::add_pair(*form, golden_room, target_room, part, sums);
        done += part;
    }
    return true;
}
