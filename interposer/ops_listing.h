// What one thread lists of the operations that the host executes on it, for one request.
//
// While it lists, a thread says yes to questions that would otherwise end a chain early, so that the host goes on to
// say which operation it means, and no to the one behind which the host would copy: runners are asked for the round and
// the directory, kernels for the round, the pass and the directory. Of layer-level operations the pass is heard, too,
// and refused: it tells the beginning of an execution from its end.
//
// A listing begins with the first layer-level operation that begins after the request was heard, and ends when one of
// those that it has listed begins once more often than there are rounds. So it holds a whole round, wherever in a step
// of the model it began, and none of the operations twice in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "execution_chain.h"
#include "listing_format.h"
#include "listing_request.h"

namespace atbprobe {

// A tensor as the host describes it: its type and format by number or name, its shape as "36,128", and the file that a
// dump of it would go to.
struct TensorDescription {
    std::string_view dtype;
    std::string_view format;
    std::string_view shape;
    std::string_view path;
};

// The host's own list of tensors, read one at a time by `at`.
struct TensorDescriptions {
    const void* tensors;
    size_t count;
    TensorDescription (*at)(const void* tensors, size_t index);
};

enum class OpKind : uint32_t { kOperation, kKernel };

struct IoReport {
    OpKind kind;
    uint64_t round;
    std::string_view name;
    TensorDescriptions inputs;
    TensorDescriptions outputs;
};

// Throws std::bad_alloc. What it writes goes to the answer when a layer-level operation is through.
class OpsListing {
  public:
    OpsListing(const ListingRequest& request, std::string channel_folder);
    ~OpsListing();
    OpsListing(const OpsListing&) = delete;
    OpsListing& operator=(const OpsListing&) = delete;

    void round_asked(uint64_t round);

    // Whether the host is to go on with the next question of the chain, whatever the rules say to this one.
    bool dir_asked(std::string_view dir);
    bool pass_asked(Pass pass);

    // The host is through with an op. Whether it is to report its tensors.
    bool executed();
    void report(const IoReport& report);

    // The thread is about to end.
    void thread_ends();

    // Nothing more comes: it is finished, or could not be written.
    bool is_over() const { return is_over_; }

    // Why it could not be written, a positive errno; 0 if it was, or if nobody waits for it any more.
    int failure() const { return failure_; }

  private:
    enum class Stage : uint32_t { kNone, kRound, kKernelPass, kLayerDir };

    void begin_layer();
    void note(OpKind kind);
    bool is_told(std::string_view dir) const;
    void add_record(ListingRecord kind, const std::string& content);
    void finish(ListingEnd reason);
    void flush();
    void give_up(int error);

    ListingRequest request_;
    std::string channel_folder_;
    std::map<std::string, uint64_t, std::less<>> executions_;  // of the layer-level operations since it began
    std::string buffer_;
    size_t written_ = 0;
    Stage stage_ = Stage::kNone;
    uint64_t round_ = 0;
    std::string asked_dir_;  // the last one
    OpKind asked_kind_ = OpKind::kOperation;
    std::string told_dir_;  // the last one that was written down, in round `told_round_`
    uint64_t told_round_ = 0;
    bool is_listing_ = false;
    bool is_over_ = false;
    int failure_ = 0;
};

}  // namespace atbprobe
