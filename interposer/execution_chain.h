// The questions that the host asks about one execution of an operation, and what was answered so far: one op, one
// program.
//
// A chain begins with the round. Runners then ask for the directory and after it for the pass, kernels for the pass
// first; whichever comes second gives the conjunction. An operation whose before pass was asked for and granted is
// opened with the decision of that moment, and its after pass and its parameters are answered from there, whatever
// program has come since. One that was not opened gets neither, though a newer program would take it.
//
// The program that a chain was begun under serves it to its end: the caller takes a new one only before `ask_round`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "open_operations.h"
#include "remembered_dirs.h"
#include "rule_program.h"
#include "saver/saver.h"

namespace atbprobe {

enum class Pass : uint32_t { kBefore, kAfter };

// Plain memory, zero-initialised: part of a thread record.
class ExecutionChain {
  public:
    // `program` is null while there is none.
    bool ask_round(const Program* program, uint64_t round) {
        if (!round_is_known_ || round != round_) look_up_round(program, round);
        const bool in_range = rules_ != 0 || open_.any_begun_in_round(round);
        stage_ = in_range ? Stage::kRound : Stage::kIdle;
        return in_range;
    }
    bool ask_dir(const Program* program, const char* dir, size_t length);
    bool ask_pass(const Program* program, Pass pass);
    bool ask_param() const;

    // What to keep of a tensor whose file is `path`: nothing unless the pass was granted and the file is the
    // operation's own.
    SaveOrder order_for(const char* path, size_t length) const;

    // Whether `path` is a file of the operation whose parameters were just granted.
    bool owns_param(const char* path, size_t length) const {
        return ask_param() && open_.innermost_contains(path, length);
    }

    // The rules of the operation that the last question began, once; 0 otherwise. For counting.
    uint64_t take_begun_rules();

    // To be called with every new program.
    void forget_questions() {
        stage_ = Stage::kIdle;
        round_is_known_ = false;
        last_dirs_.forget();
        open_.outdate();
    }
    void forget_everything();

  private:
    enum class Stage : uint32_t {
        kIdle,     // no chain, or one that was refused
        kRound,    // the round was in range
        kPass,     // kernels: then the pass was asked for
        kDir,      // runners: then the directory was granted, and belongs to the innermost open operation
        kGranted,  // the conjunction was granted for `pass_`
    };

    void look_up_round(const Program* program, uint64_t round);
    bool open_operation(const Program* program, const char* dir, size_t length);
    uint64_t rules_for(const Program* program, const char* dir, size_t length);
    uint32_t filter_level_for(const ProgramView& program, const OpenOperation& operation) const;
    bool begin(const Program* program);
    bool begin_again(const Program* program);
    bool grant(bool granted);

    Stage stage_;
    Pass pass_;
    bool round_is_known_;
    uint64_t round_;
    uint64_t rules_;  // that take this round
    uint64_t begun_rules_;
    OpenOperations open_;
    RememberedDirs last_dirs_;
};

}  // namespace atbprobe
