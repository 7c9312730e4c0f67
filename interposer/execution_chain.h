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
    // Whether the answer about this round is known under the rules of this generation; if so, the question for it.
    bool knows_round(uint64_t generation, uint64_t round) const {
        return generation == known_under_ && round == round_;
    }
    bool ask_known_round() {
        stage_ = known_stage_;
        return known_stage_ == Stage::kRound;
    }

    // `program` is null while there is none, here and below; `generation` is that of the rules it was taken for.
    bool ask_round(const Program* program, uint64_t generation, uint64_t round);

    // `ask_dir` for a directory that is remembered and refused, while nothing is open. False: it may be neither.
    bool refuses_again(const char* dir, size_t length) {
        uint64_t rules = 0;
        if (stage_ != Stage::kRound || open_.any() || !last_dirs_.find(dir, length, &rules)) return false;
        if ((rules & rules_) != 0) return false;
        stage_ = Stage::kIdle;
        return true;
    }

    bool ask_dir(const Program* program, const char* dir, size_t length);
    bool ask_pass(const Program* program, Pass pass);
    bool ask_param();

    // Whether the pass was granted and `path` is a file of the operation that it was granted for.
    bool owns_tensor(const char* path, size_t length) const {
        return stage_ == Stage::kGranted && open_.innermost_contains(path, length);
    }

    // What to keep of a tensor that the operation owns.
    SaveOrder order() const;

    // The operation, if its rules have conditions or budgets: then it decides itself. Null otherwise.
    LimitedOperation* limited() const { return open_.innermost()->limited; }

    // Whether `path` is a file of the operation whose parameters were just granted.
    bool owns_param(const char* path, size_t length) { return ask_param() && open_.innermost_contains(path, length); }

    // The host is through with an operation; it says so last of all, of those that are refused, too.
    void operation_executed() { open_.close_asked(); }
    bool any_open() const { return open_.any(); }

    // Operations that have begun under a program and whose end was not seen.
    size_t operations_open() const { return open_.begun(); }

    // That take the round that was asked about last.
    uint64_t rules_of_round() const { return rules_; }

    // Whether the last questions may have begun or ended an operation, or were the first ones under new rules: all that
    // a caller has to look at behind each of them.
    bool has_news() const { return has_news_; }
    void set_news(bool has_news) { has_news_ = has_news; }

    // The rules of the operation that the last question began, once; 0 otherwise. For counting.
    uint64_t take_begun_rules();

    // To be called with every new program.
    void forget_questions() {
        stage_ = Stage::kIdle;
        known_under_ = kNoGeneration;
        last_dirs_.forget();
        open_.outdate();
        has_news_ = true;
    }
    // The thread ends, or its process: what is open will see no end.
    void close_everything();
    // In a forked child.
    void forget_everything(bool is_own_thread);

    // So that the next question is asked in full, which changes no answer.
    void forget_remembered() {
        known_under_ = kNoGeneration;
        last_dirs_.forget();
    }

    // What is asked from here on belongs to no chain, until a new one begins.
    void end_chain() { stage_ = Stage::kIdle; }

  private:
    enum class Stage : uint32_t {
        kIdle,     // no chain, or one that was refused
        kRound,    // the round was in range
        kPass,     // kernels: then the pass was asked for
        kDir,      // runners: then the directory was granted, and belongs to the innermost open operation
        kGranted,  // the conjunction was granted for `pass_`
    };

    OpenOperation* find_open(const char* dir, size_t length) {
        if (!open_.any()) return nullptr;
        has_news_ = true;  // some may not be on the way
        return open_.find(round_, dir, length);
    }
    bool open_operation(const Program* program, const char* dir, size_t length);
    uint64_t rules_for(const Program* program, const char* dir, size_t length);
    bool ask_dir_behind_pass(const Program* program, const char* dir, size_t length);
    uint32_t filter_level_for(const ProgramView& program, const OpenOperation& operation) const;
    bool begin(const Program* program);
    bool begin_limited(const Program* program, OpenOperation* operation);
    bool refuse_innermost();
    bool begin_again(const Program* program);
    bool end(OpenOperation* operation);
    bool grant(bool granted);

    static constexpr uint64_t kNoGeneration = UINT64_MAX - 1;  // none is as large

    uint64_t known_under_;  // the generation that the answer about `round_` holds for
    uint64_t round_;
    uint64_t rules_;  // that take this round
    Stage stage_;
    Stage known_stage_;  // what asking for this round leads to, where that is known
    Pass pass_;
    bool has_news_;
    uint64_t begun_rules_;
    OpenOperations open_;
    RememberedDirs last_dirs_;
};

}  // namespace atbprobe
