// What the user should hear about rules that select nothing, in the model's own messages: there is no other sign of it
// than files that do not come. Of rules that are changed many times a second not all is told.
#pragma once

#include <cstddef>
#include <string_view>

#include "rounds_seen.h"
#include "rule_program.h"

namespace atbprobe {

// After so many steps of a model it is said which rules have selected nothing.
inline constexpr uint64_t kStepsUntilIdle = 64;

// At the first directory that a thread is asked about under `program`: names the rules that are for other devices than
// that of `dir`. Once for each program.
void tell_rules_for_other_devices(const Program& program, const char* dir, size_t length);

// After kStepsUntilIdle steps: names the rules that could have selected something, and have not, and those whose rounds
// were over before it began. One whose rounds are still to come is not named. Once for each program.
void tell_idle_rules(const Program& program, const RoundsSeen& rounds);

// To be called when conditional `rules` keep an operation, one of whose outputs is `path`. Said once for each rule.
void tell_condition_met(const Program& program, uint64_t rules, std::string_view path);

// Rules that have kept all that they were to keep. Said once for each rule.
void tell_ended_rules(const Program& program);

}  // namespace atbprobe
