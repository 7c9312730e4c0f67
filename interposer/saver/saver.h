// The saver's front: what the probe functions call, on the model's own threads.
//
// A selected tensor is copied into a bounded queue and the call returns; writer threads, started with the first
// tensor, turn it into a .bin and a row of statistic.csv. Where statistics alone are wanted and take less time than a
// copy, they are computed before the call returns. Nothing here throws, prints to stdout, or keeps a pointer
// into the caller's memory after it returns.
#pragma once

#include <cstdint>
#include <string_view>

#include "program_format.h"

namespace atbprobe {

// One call of Probe::SaveTensor, as given. `dtype` and `format` are decimal numbers in text, `dims` is "36,128",
// `path` is relative to the data folder.
struct TensorCall {
    std::string_view dtype;
    std::string_view format;
    std::string_view dims;
    const void* data;
    uint64_t bytes;
    std::string_view path;
};

inline constexpr uint32_t kFilterPlainNames = 1;  // a tensor that is stored already is stored as a reference, but
                                                  // never under a file name that holds a parameter's name
inline constexpr uint32_t kFilterKernels = 2;     // as 1, and no data of kernels
inline constexpr uint32_t kFilterAllNames = 3;    // as 1, whatever the file's name

// What to keep of a tensor.
struct SaveOrder {
    uint32_t tasks = 0;
    uint32_t filter_level = 0;  // 0: every tensor whole
};

// Makes `<output>/atb_dump_data/data/` and says once per process that dumping is on.
void saver_announce();

// Saves what the tasks ask for: the data, the statistics, or both. A row is written whatever the task.
void save_tensor(const TensorCall& call, const SaveOrder& order);

// Writes `json` to `path` (`…/op_param.json`), whole or not at all.
void save_param(std::string_view json, std::string_view path);

// At the end of the process: everything queued is written before this returns, unless nothing moves for 30 s.
// Calls that come later are carried out by their caller.
void saver_drain();

// In a forked child: forgets the parent's queue and threads, which are not there.
void saver_after_fork_in_child();

}  // namespace atbprobe
