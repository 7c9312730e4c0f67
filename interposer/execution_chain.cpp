#include "execution_chain.h"

#include "always_inline.h"

namespace atbprobe {
namespace {

uint64_t ended_rules(const Program& program) { return program.budgets == nullptr ? 0 : program.budgets->ended(); }

}  // namespace

bool ExecutionChain::ask_round(const Program* program, uint64_t generation, uint64_t round) {
    round_ = round;
    rules_ = program == nullptr ? 0 : rules_by_round(program->view, round) & ~ended_rules(*program);
    const bool in_range = rules_ != 0 || open_.any_begun_in_round(round);
    // A yes without rules holds for as long as something is open. After a no nothing is opened.
    known_under_ = rules_ != 0 || !in_range ? generation : kNoGeneration;
    known_stage_ = in_range ? Stage::kRound : Stage::kIdle;
    return ask_known_round();
}

ATBPROBE_INLINE uint64_t ExecutionChain::rules_for(const Program* program, const char* dir, size_t length) {
    if (rules_ == 0) return 0;
    const ProgramView& view = program->view;
    uint64_t by_dir = 0;
    if (!last_dirs_.find(dir, length, &by_dir)) by_dir = last_dirs_.read(view, dir, length);
    if (__builtin_expect((by_dir & view.next_rules) == 0, 1)) return rules_ & by_dir;
    // What `next` has used up it never gives again, so it may be remembered, too.
    const uint64_t left = rules_by_next(view, by_dir, program->executions->count_of(dir, length));
    last_dirs_.narrow(length, left);
    return rules_ & left;
}

// filter_level acts on operations whose layer-level operation is itself selected, in this round and on this device, by
// a rule with save_child. A rule with `next` selects that one's present execution if it is open by that rule, or, where
// its beginning was not seen, if the rule takes this operation below it.
uint32_t ExecutionChain::filter_level_for(const ProgramView& program, const OpenOperation& operation) const {
    const uint32_t level = program.program->filter_level;
    if (level == 0) return 0;
    const char* dir = open_.innermost_dir();
    const size_t layer = layer_length(dir, operation.dir_length);
    uint64_t layer_rules = rules_ & rules_by_dir(program, dir, layer);
    if ((layer_rules & program.next_rules) != 0) {
        const OpenOperation& outermost = *open_.outermost();
        const bool layer_is_open = outermost.dir_length == layer && outermost.is_current;
        layer_rules &= ~program.next_rules | operation.rules | (layer_is_open ? outermost.rules : 0);
    }
    return rules_with_children(program, layer_rules) != 0 ? level : 0;
}

ATBPROBE_INLINE bool ExecutionChain::open_operation(const Program* program, const char* dir, size_t length) {
    const uint64_t rules = rules_for(program, dir, length);
    // Asked again, since what ended may have ended since the round was asked about.
    if (rules == 0 || (rules & ~ended_rules(*program)) == 0) return false;
    return open_.open(round_, dir, length, rules) != nullptr;
}

// The before pass of the innermost operation, which is a candidate. Here, and only here, an execution counts for
// `next`.
bool ExecutionChain::begin(const Program* program) {
    const ProgramView& view = program->view;
    OpenOperation* operation = open_.innermost();
    has_news_ = true;
    if ((operation->rules & view.next_rules) != 0) {
        const uint64_t earlier = program->executions->add(open_.innermost_dir(), operation->dir_length);
        operation->rules = rules_by_next(view, operation->rules, earlier);
        if (operation->rules == 0) return refuse_innermost();
    }
    if (program->budgets != nullptr && !begin_limited(program, operation)) return refuse_innermost();
    operation->tasks = tasks_of_rules(view, operation->rules);
    operation->filter_level = filter_level_for(view, *operation);
    if (!operation->begun) open_.begin_innermost();
    operation->is_current = true;
    begun_rules_ = operation->limited == nullptr ? operation->rules : operation->limited->kept();
    return grant(operation->tasks.input != 0);
}

bool ExecutionChain::begin_limited(const Program* program, OpenOperation* operation) {
    operation->limited = LimitedOperation::begin(*program, operation->rules);
    if (operation->limited == nullptr) return false;
    operation->rules = operation->limited->rules();
    return true;
}

bool ExecutionChain::refuse_innermost() {
    open_.close_innermost();
    return grant(false);
}

// The before pass of an operation that had begun already: the same round, and so the same execution, once more. It is
// decided anew only if the program is new.
bool ExecutionChain::begin_again(const Program* program) {
    OpenOperation* operation = open_.innermost();
    operation->after_asked = false;
    has_news_ = true;
    if (operation->is_current) {
        begun_rules_ = operation->limited == nullptr ? operation->rules : operation->limited->begin_again();
        return grant(operation->tasks.input != 0);
    }
    open_.close_limited(operation);
    operation->rules = rules_for(program, open_.innermost_dir(), operation->dir_length);
    return operation->rules != 0 ? begin(program) : refuse_innermost();
}

// The after pass of an operation that has begun. Its tensors and its parameters are still to come.
bool ExecutionChain::end(OpenOperation* operation) {
    operation->after_asked = true;
    return grant(operation->limited == nullptr ? operation->tasks.output != 0 : operation->limited->wants_outputs());
}

bool ExecutionChain::grant(bool granted) {
    stage_ = granted ? Stage::kGranted : Stage::kIdle;
    return granted;
}

bool ExecutionChain::ask_dir(const Program* program, const char* dir, size_t length) {
    if (stage_ != Stage::kRound) return ask_dir_behind_pass(program, dir, length);
    const bool selected = find_open(dir, length) != nullptr || open_operation(program, dir, length);
    stage_ = selected ? Stage::kDir : Stage::kIdle;
    return selected;
}

bool ExecutionChain::ask_dir_behind_pass(const Program* program, const char* dir, size_t length) {
    if (stage_ == Stage::kIdle) return false;
    if (stage_ != Stage::kPass) return grant(false);

    OpenOperation* operation = find_open(dir, length);
    if (pass_ == Pass::kAfter) return operation != nullptr ? end(operation) : grant(false);
    if (operation != nullptr) return begin_again(program);
    return open_operation(program, dir, length) ? begin(program) : grant(false);
}

bool ExecutionChain::ask_pass(const Program* program, Pass pass) {
    if (stage_ == Stage::kIdle) return false;
    pass_ = pass;
    if (stage_ == Stage::kRound) {
        stage_ = Stage::kPass;
        return true;
    }
    if (stage_ != Stage::kDir) return grant(false);
    OpenOperation* operation = open_.innermost();
    if (pass == Pass::kAfter) return operation->begun ? end(operation) : grant(false);
    return operation->begun ? begin_again(program) : begin(program);
}

bool ExecutionChain::ask_param() {
    if (stage_ != Stage::kDir || !open_.innermost()->begun) return false;
    const OpenOperation* operation = open_.innermost();
    if (operation->limited == nullptr) return true;
    if (operation->after_asked) operation->limited->settle();
    return operation->limited->kept() != 0;
}

SaveOrder ExecutionChain::order() const {
    const OpenOperation* operation = open_.innermost();
    const uint32_t tasks = pass_ == Pass::kBefore ? operation->tasks.input : operation->tasks.output;
    return {tasks, operation->filter_level};
}

uint64_t ExecutionChain::take_begun_rules() {
    const uint64_t rules = begun_rules_;
    begun_rules_ = 0;
    return rules;
}

void ExecutionChain::close_everything() {
    forget_questions();
    begun_rules_ = 0;
    open_.close_all();
}

void ExecutionChain::forget_everything(bool is_own_thread) {
    forget_questions();
    begun_rules_ = 0;
    open_.forget(is_own_thread);
}

}  // namespace atbprobe
