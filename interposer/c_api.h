// The C functions that the library exports beside the probe symbols: for the compiler, the watcher and the tests,
// which call them through ctypes. Nothing here is called on the model's hot path.
#pragma once

#include <cstddef>
#include <cstdint>

#define ATBPROBE_API extern "C" __attribute__((visibility("default")))

// What a program says of one op in one round. `rules` has a bit for each rule that selects it.
struct AtbprobeDecision {
    uint64_t rules;
    uint32_t count_in_range;
    uint32_t in_specific_dir;
    uint32_t input_tasks;
    uint32_t output_tasks;
};

// The layouts of program_format.h and channel_format.h as one JSON object: {"structs": {name: {"size", "fields": {name:
// [offset, size]}}}, "constants": {…}}. Returns the length of the text, which is cut if `size` is too small.
ATBPROBE_API size_t atbprobe_layout(char* text, size_t size);

// The name of a verification verdict; verdict 0 is "ok".
ATBPROBE_API const char* atbprobe_verdict_name(uint32_t verdict);

// Verifies an image of `size` bytes. Returns a verdict, 0 for a good one.
ATBPROBE_API uint32_t atbprobe_verify(const void* image, size_t size);

// Copies and verifies an image. Returns a handle, or null with the verdict in `verdict`.
ATBPROBE_API void* atbprobe_program_open(const void* image, size_t size, uint32_t* verdict);
ATBPROBE_API void atbprobe_program_close(void* program);

// `earlier`: how many executions of this op came before under the program, for rules with `next`.
ATBPROBE_API void atbprobe_program_decide(const void* program, uint64_t round, const char* dir, size_t dir_length,
                                          uint64_t earlier, AtbprobeDecision* decision);

// The folder of the channel that belongs to `config_path`, below `runtime_folder`, written to `text` with a final NUL.
// Returns its length, or a negative errno.
ATBPROBE_API int64_t atbprobe_channel_path(const char* runtime_folder, const char* config_path, char* text,
                                           size_t size);

// Makes the channel's folder and control file if they are missing and checks them otherwise. Returns 0, or a
// negative errno. The functions below fail with -ENOENT where there is no channel.
ATBPROBE_API int64_t atbprobe_channel_create(const char* folder);

// Verifies the image, gives it the next generation, writes it into the channel and makes every attached process take
// it. The image's bytes are not changed. Returns the generation, or a negative errno (-EBADMSG: refused by the
// verifier).
ATBPROBE_API int64_t atbprobe_publish(const char* folder, const void* image, size_t size);

// Tells the attached processes that this channel is going away; they attach anew.
ATBPROBE_API int64_t atbprobe_channel_close(const char* folder);

// Says to every process that holds a slot that there is a request to look for in the channel's folder; see
// listing_format.h.
ATBPROBE_API int64_t atbprobe_channel_ring(const char* folder);

// The watcher's sign of life: its pid, its start time and now, on the monotonic clock. Pid 0 withdraws it.
ATBPROBE_API int64_t atbprobe_channel_heartbeat(const char* folder, uint32_t pid, uint64_t start_time);
