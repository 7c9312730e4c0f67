#include "rule_program.h"

#include <cerrno>
#include <cstdlib>
#include <new>

namespace atbprobe {

int load_program(const char* folder, uint64_t generation, Program** program, Verdict* verdict) {
    ImageCopy copy;
    const int error = channel_read_image(folder, generation, &copy);
    if (error != 0) return error;
    auto* loaded = new (std::nothrow) Program{};
    if (loaded == nullptr) {
        free(copy.bytes);
        return -ENOMEM;
    }
    loaded->image = copy.bytes;
    *verdict = verify_image(copy.bytes, copy.size, &loaded->view);
    if (*verdict == Verdict::kOk && loaded->view.generation != generation) *verdict = Verdict::kBadHeader;
    if (*verdict != Verdict::kOk) {
        free_program(loaded);
        return 0;
    }
    if (loaded->view.next_rules != 0) {
        loaded->executions = ExecutionCounts::create();
        if (loaded->executions == nullptr) {
            free_program(loaded);
            return -ENOMEM;
        }
    }
    *program = loaded;
    return 0;
}

void free_program(Program* program) {
    if (program->executions != nullptr) program->executions->destroy();
    free(program->image);
    delete program;
}

}  // namespace atbprobe
