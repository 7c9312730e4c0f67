#include "execution_chain.h"

namespace atbprobe {

void ExecutionChain::look_up_round(const ProgramView* program, uint64_t round) {
    round_is_known_ = true;
    round_ = round;
    rules_ = program == nullptr ? 0 : rules_by_round(*program, round);
}

uint64_t ExecutionChain::rules_for(const ProgramView* program, const char* dir, size_t length) {
    if (rules_ == 0) return 0;
    uint64_t by_dir = 0;
    if (!last_dirs_.find(dir, length, &by_dir)) {
        by_dir = rules_by_dir(*program, dir, length);
        last_dirs_.remember(dir, length, by_dir);
    }
    return rules_ & by_dir;
}

// filter_level acts on operations whose layer-level operation is itself selected, in this round and on this device, by
// a rule with save_child.
uint32_t ExecutionChain::filter_level_for(const ProgramView& program, const char* dir, size_t length) const {
    const uint32_t level = program.program->filter_level;
    if (level == 0) return 0;
    const uint64_t layer_rules = rules_ & rules_by_layer(program, dir, length);
    return rules_with_children(program, layer_rules) != 0 ? level : 0;
}

void ExecutionChain::decide(const ProgramView& program, OpenOperation* operation, uint64_t rules,
                            const char* dir) const {
    operation->rules = rules;
    operation->tasks = tasks_of_rules(program, rules);
    operation->filter_level = filter_level_for(program, dir, operation->dir_length);
}

bool ExecutionChain::open_operation(const ProgramView* program, const char* dir, size_t length) {
    const uint64_t rules = rules_for(program, dir, length);
    OpenOperation* operation = rules == 0 ? nullptr : open_.open(round_, dir, length);
    if (operation == nullptr) return false;
    decide(*program, operation, rules, dir);
    return true;
}

// The before pass of an operation that had begun already: the same round once more, decided anew.
bool ExecutionChain::reopen(const ProgramView* program, OpenOperation* operation) {
    const uint64_t rules = rules_for(program, open_.innermost_dir(), operation->dir_length);
    if (rules == 0) {
        open_.close_innermost();
        return false;
    }
    decide(*program, operation, rules, open_.innermost_dir());
    return true;
}

bool ExecutionChain::begin(OpenOperation* operation) {
    operation->begun = true;
    begun_rules_ = operation->rules;
    return grant(operation->tasks.input != 0);
}

bool ExecutionChain::grant(bool granted) {
    stage_ = granted ? Stage::kGranted : Stage::kIdle;
    return granted;
}

bool ExecutionChain::ask_dir(const ProgramView* program, const char* dir, size_t length) {
    if (stage_ == Stage::kRound) {
        const bool selected = open_.find(round_, dir, length) != nullptr || open_operation(program, dir, length);
        stage_ = selected ? Stage::kDir : Stage::kIdle;
        return selected;
    }
    if (stage_ != Stage::kPass) return grant(false);

    OpenOperation* operation = open_.find(round_, dir, length);
    if (pass_ == Pass::kAfter) return grant(operation != nullptr && operation->tasks.output != 0);
    if (operation != nullptr) open_.close_innermost();  // as in reopen
    return open_operation(program, dir, length) ? begin(open_.innermost()) : grant(false);
}

bool ExecutionChain::ask_pass(const ProgramView* program, Pass pass) {
    pass_ = pass;
    if (stage_ == Stage::kRound) {
        stage_ = Stage::kPass;
        return true;
    }
    if (stage_ != Stage::kDir) return grant(false);
    OpenOperation* operation = open_.innermost();
    if (pass == Pass::kAfter) return grant(operation->begun && operation->tasks.output != 0);
    if (operation->begun && !reopen(program, operation)) return grant(false);
    return begin(operation);
}

bool ExecutionChain::ask_param() const { return stage_ == Stage::kDir && open_.innermost()->begun; }

SaveOrder ExecutionChain::order_for(const char* path, size_t length) const {
    if (stage_ != Stage::kGranted || !open_.innermost_contains(path, length)) return {};
    const OpenOperation* operation = open_.innermost();
    const uint32_t tasks = pass_ == Pass::kBefore ? operation->tasks.input : operation->tasks.output;
    return {tasks, operation->filter_level};
}

uint64_t ExecutionChain::take_begun_rules() {
    const uint64_t rules = begun_rules_;
    begun_rules_ = 0;
    return rules;
}

void ExecutionChain::forget_everything() {
    forget_questions();
    begun_rules_ = 0;
    open_.clear();
}

}  // namespace atbprobe
