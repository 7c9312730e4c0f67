// Every environment variable that is read, in one place. Each is read once, on first use, and copied, so that a
// host which calls setenv or putenv later can neither move nor change what we hold. A setuid program gets the
// defaults.
//
//   ATB_OUTPUT_DIR        folder in which atb_dump_data/ is made; default: the working directory
//   ATB_DUMP_CONFIG       the config file whose channel is attached; default: none, nothing is dumped
//   ATBPROBE_IMAGE        rules compiled by `atbprobe-rules compile`, in force from the first operation to the end: no
//                         watcher, no channel; wins over ATB_DUMP_CONFIG
//   ATB_AIT_LOG_LEVEL     0 debug, 1 info, 2 warning, 3 error, 4 fatal, 5 silent; default: 2
//   ATBPROBE_RUNTIME_DIR  folder of the channels; default: /dev/shm/atbprobe-<uid>
//   ATBPROBE_QUEUE_BYTES  memory for tensors that wait to be written, as a number of bytes or "64 MiB"; 0: none waits;
//                         default: the smaller of 1 GiB and an eighth of the memory that this process may use
//   ATBPROBE_HELD_BYTES   memory for tensors that wait until a condition on their operation is decided, as above; what
//                         does not fit waits in a file; default: a quarter of that for the queue
//   ATBPROBE_MIN_FREE     bytes of the output's file system that stay free, as above; 0: none; default: the smaller of
//                         2 GiB and 5% of the file system
//   ATBPROBE_FSYNC        1: what is written is on the disk before it counts as saved; default: 0
//   ATBPROBE_WRITERS      number of writer threads, 1 to 64; default: 4, or the allowed cores if they are fewer
#pragma once

#include <cstdint>
#include <optional>

namespace atbprobe {

// Never null, and valid for the life of the process. The first three are empty if unset.
const char* environment_output_folder();
const char* environment_config_path();
const char* environment_image_path();
const char* environment_runtime_folder();

int environment_log_level();

// The default is looked up in /proc and the cgroup file system at each call.
uint64_t environment_queue_bytes();

// The default is looked up once.
uint64_t environment_held_bytes();

uint32_t environment_writers();

// Without a value if unset.
std::optional<uint64_t> environment_min_free();

bool environment_fsync();

}  // namespace atbprobe
