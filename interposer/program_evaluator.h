// The evaluator: which rules select an op. It trusts its program (program_verifier.h) and nothing else; the directory
// string is the host's and can hold any bytes.
//
// A decision is an intersection of three masks of rules: by round, by device, by op path. Device and path are read in
// one pass over `<device>_<pid>/<count>/<id>_<name>[/<id>_<name>…]`, component by component: one automaton reads the
// ids of the whole path, another one starts afresh on the name of each component, and what their states emit is
// gathered in a few registers. All that is known at the end of a component is a `DirState`, so that whoever has kept
// one can go on from there. Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_verifier.h"

namespace atbprobe {

uint64_t rules_by_round(const ProgramView& program, uint64_t round);

// The rules that some round from `round` on may be in. For telling, not for deciding.
uint64_t rules_from_round(const ProgramView& program, uint64_t round);

// How far a directory was read, and what that has led to. One cache line.
struct DirState {
    uint64_t by_device;
    uint64_t ids_below;
    uint64_t names_below;
    uint64_t excluded;
    uint64_t matched;  // path terms, of their first word
    uint64_t waiting;
    uint64_t rules;   // that take the op of what was read, whatever the round
    uint32_t length;  // of what was read
    uint32_t id_row;
};

// The longest directory that can be read; none but a hostile one is longer, and nothing takes it.
inline constexpr size_t kMaxDirLength = UINT32_MAX;

// Reads `<device>_<pid>/<count>`. False if no op path follows.
bool read_root(const ProgramView& program, const char* dir, size_t length, DirState* state);

// Whether reading can go on from a state behind the root. Otherwise there are too many path terms for a state.
inline bool can_resume(const ProgramView& program) { return program.path_words.count <= 1; }

// Reads from the root to the end.
void read_to_end(const ProgramView& program, const char* dir, size_t length, DirState* state);

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

enum class Side { kInput, kOutput };

// What one tensor of `bytes` is worth to a set of rules: of one that is larger than a rule's limit, that rule wants
// statistics in place of the data.
uint32_t tasks_of_tensor(const ProgramView& program, uint64_t rules, Side side, uint64_t bytes);

// Those of `rules` that want the data of such a tensor.
uint64_t rules_for_data(const ProgramView& program, uint64_t rules, Side side, uint64_t bytes);

}  // namespace atbprobe
