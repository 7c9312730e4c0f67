// The evaluator: which rules select an op. It trusts its program (program_verifier.h) and nothing else; the directory
// string is the host's and can hold any bytes.
//
// A decision is an intersection of three masks of rules: by round, by device, by op path. Device and path are read in
// one pass over `<device>_<pid>/<count>/<id>_<name>[/<id>_<name>…]`, component by component: one automaton reads the
// ids of the whole path, another one starts afresh on the name of each component, and what their states emit is
// gathered in a few registers. Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_verifier.h"

namespace atbprobe {

uint64_t rules_by_round(const ProgramView& program, uint64_t round);

// The rules that take the op of `dir`, whatever the round.
uint64_t rules_by_dir(const ProgramView& program, const char* dir, size_t length);

// Those of `rules` that still take an operation that was executed `earlier` times under the program.
uint64_t rules_by_next(const ProgramView& program, uint64_t rules, uint64_t earlier);

// How much of `dir` names the layer-level operation that it lies in, or is.
size_t layer_length(const char* dir, size_t length);

// Those of `rules` that also take everything below an op that they select.
uint64_t rules_with_children(const ProgramView& program, uint64_t rules);

// What a set of rules wants of an op: the union of their tasks for each side.
struct Tasks {
    uint32_t input = 0;
    uint32_t output = 0;
};
Tasks tasks_of_rules(const ProgramView& program, uint64_t rules);

}  // namespace atbprobe
