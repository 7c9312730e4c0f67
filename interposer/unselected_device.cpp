#include "unselected_device.h"

#include <cstdio>

#include "log.h"
#include "program_evaluator.h"

namespace atbprobe {
namespace {

LogOnce g_said_unselected;

}  // namespace

void say_if_device_is_unselected(const ProgramView& program, int32_t device) {
    if (device < 0 || program.program->dump_enable == 0) return;
    char root[32];
    const int length = snprintf(root, sizeof(root), "%d_0/0/", device);
    DirState state = {};
    if (!read_root(program, root, static_cast<size_t>(length), &state) || state.by_device != 0) return;
    log_once(g_said_unselected, LogLevel::kWarning,
             "no rule selects device %d, which this process runs on: nothing is dumped there", device);
}

}  // namespace atbprobe
