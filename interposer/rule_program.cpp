#include "rule_program.h"

#include <cerrno>
#include <cstdlib>
#include <new>

namespace atbprobe {

int load_program(const char* folder, uint64_t generation, Program** program, Verdict* verdict) {
    ImageCopy copy;
    int error = channel_read_image(folder, generation, &copy);
    if (error == 0) error = make_program(copy, program, verdict);
    if (*program == nullptr || (*program)->view.generation == generation) return error;
    free_program(*program);
    *program = nullptr;
    *verdict = Verdict::kBadHeader;
    return 0;
}

int make_program(const ImageCopy& copy, Program** program, Verdict* verdict) {
    auto* made = new (std::nothrow) Program{};
    if (made == nullptr) {
        free(copy.bytes);
        return -ENOMEM;
    }
    made->image = copy.bytes;
    *verdict = verify_image(copy.bytes, copy.size, &made->view);
    int error = 0;
    if (*verdict == Verdict::kOk && made->view.next_rules != 0) {
        made->executions = ExecutionCounts::create();
        if (made->executions == nullptr) error = -ENOMEM;
    }
    if (*verdict == Verdict::kOk && needs_budgets(made->view)) {
        made->budgets = new (std::nothrow) RuleBudgets{};
        if (made->budgets == nullptr) error = -ENOMEM;
    }
    if (*verdict == Verdict::kOk && error == 0) {
        *program = made;
    } else {
        free_program(made);
    }
    return error;
}

void free_program(Program* program) {
    if (program->executions != nullptr) program->executions->destroy();
    delete program->budgets;
    free(program->image);
    delete program;
}

}  // namespace atbprobe
