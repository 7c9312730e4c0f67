#include "limited_operation.h"

#include <new>

#include "operation_counts.h"
#include "rule_notices.h"
#include "rule_program.h"
#include "saver/extremes.h"
#include "saver/tensor_path.h"

namespace atbprobe {

LimitedOperation::LimitedOperation(const Program& program, uint64_t kept, uint64_t pending)
    : program_(program), kept_(kept), pending_(pending) {
    program_.operations_open.fetch_add(1, std::memory_order_relaxed);
}

LimitedOperation::~LimitedOperation() { program_.operations_open.fetch_sub(1, std::memory_order_release); }

LimitedOperation* LimitedOperation::begin(const Program& program, uint64_t rules) {
    RuleBudgets& budgets = *program.budgets;
    const uint64_t conditional = program.view.conditional_rules;
    const uint64_t kept = budgets.keep_operation(program.view, rules & ~conditional);
    const uint64_t pending = rules & conditional & ~budgets.ended();
    tell_ended_rules(program);
    if ((kept | pending) == 0) return nullptr;
    return new (std::nothrow) LimitedOperation(program, kept, pending);
}

uint64_t LimitedOperation::begin_again() {
    held_.drop();
    return kept_;
}

bool LimitedOperation::wants_outputs() {
    pending_ &= ~program_.budgets->ended();
    return pending_ != 0 || tasks_of_rules(program_.view, kept_).output != 0;
}

uint64_t LimitedOperation::rules_met_by(const TensorCall& call) const {
    const Extremes extremes = find_extremes(call);
    uint64_t met = 0;
    for (uint64_t rest = pending_; rest != 0; rest &= rest - 1) {
        const ActionRecord& action = program_.view.actions[__builtin_ctzll(rest)];
        const bool is_met = ((action.condition & kConditionNan) != 0 && extremes.has_nan) ||
                            ((action.condition & kConditionInfinity) != 0 && extremes.has_infinity) ||
                            ((action.condition & kConditionAbove) != 0 && extremes.exceeds(action.condition_bound));
        if (is_met) met |= rest & -rest;
    }
    return met;
}

void LimitedOperation::keep(uint64_t rules, const TensorCall& call) {
    pending_ &= ~rules;
    const uint64_t fresh = program_.budgets->keep_operation(program_.view, rules);
    pending_ &= ~program_.budgets->ended();
    if (fresh != 0) {
        if (kept_ == 0) {
            count_selected(fresh);
        } else {
            count_hits(fresh);
        }
        kept_ |= fresh;
        tell_condition_met(program_, fresh, call.path);
    }
    tell_ended_rules(program_);
    save_decided();
}

void LimitedOperation::count_data(Side side, uint64_t bytes) {
    program_.budgets->keep_data(program_.view, rules_for_data(program_.view, kept_, side, bytes), bytes);
    tell_ended_rules(program_);
}

// Of what is held, that which no pending rule could ask more of; in order, as rows of statistic.csv are.
void LimitedOperation::save_decided() {
    held_.save_decided([this](Side side, uint64_t bytes, uint32_t* tasks) {
        *tasks = tasks_of_tensor(program_.view, kept_, side, bytes);
        if (*tasks != tasks_of_tensor(program_.view, rules(), side, bytes)) return false;
        if ((*tasks & kTaskTensor) != 0) count_data(side, bytes);
        return true;
    });
}

void LimitedOperation::take(const TensorCall& call, uint32_t filter_level) noexcept {
    const PathKind kind = parse_tensor_path(call.path).kind;
    if (kind == PathKind::kIgnored || (kind == PathKind::kBad && kept_ == 0)) return;
    const Side side = kind == PathKind::kOutput ? Side::kOutput : Side::kInput;
    if (side == Side::kOutput && pending_ != 0) {
        const uint64_t met = rules_met_by(call);
        if (met != 0) keep(met, call);
    }
    const uint32_t tasks = tasks_of_tensor(program_.view, kept_, side, call.bytes);
    const uint32_t possible = tasks_of_tensor(program_.view, rules(), side, call.bytes);
    if (possible == 0) return;
    if (tasks != possible || held_.any()) return held_.hold(call, side, {possible, filter_level});
    if ((tasks & kTaskTensor) != 0) count_data(side, call.bytes);
    save_tensor(call, {tasks, filter_level});
}

void LimitedOperation::settle() {
    pending_ = 0;
    save_decided();
}

void LimitedOperation::close() {
    settle();
    delete this;
}

void LimitedOperation::abandon() { delete this; }

}  // namespace atbprobe
