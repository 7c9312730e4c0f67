// An operation at its place in a layer: the tree of runners below a layer-level operation, each with its
// tensors, its directory and its cached answer. Setup prepares the tree, Execute runs it; both ask the probe
// along the way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "context.h"
#include "dump_chain.h"
#include "operation.h"

namespace atbprobe::standin {

// The kernel of a built-in operation.
class KernelRunner {
  public:
    KernelRunner(const Operation& operation, std::vector<int64_t> ids);

    void prepare(Context& context, const ShapeList& shapes);
    void fill_tiling(Context& context, uint64_t round);
    void execute(Context& context, uint64_t round, const TensorList& inputs, TensorList& outputs);

    void place(const std::string& parent_path, const std::string& kernel_name);
    void set_dirs(const std::string& head, const std::string& true_head);

  private:
    void report_io(uint64_t round, const TensorList& inputs, const TensorList& outputs) const;

    const Operation& operation_;
    std::vector<int64_t> ids_;
    std::string name_;
    std::string parent_path_;
    std::string path_;  // "1_Prefill_layer/0_RmsNormOperation/0_RmsNormKernel"
    std::string dir_;   // with the head that says device, process and setup; empty if not asked for
    std::string parent_dir_;
    std::string true_dir_;  // the same, always filled
    bool asked_ = false;
    bool wanted_ = false;
    bool cached_ = false;  // this Setup found its tiling in a cache
    ShapeList shapes_;
    ShapeList own_tiling_;  // shapes of the tiling that was computed here last
};

class Runner {
  public:
    Runner(const Operation& operation, std::vector<int64_t> ids, const std::string& parent_path);

    // First Setup: IsTensorNeedSave for everything below, children first. The answers hold for good.
    void ask_descendants();
    void ask();

    // Head of all directories, "0_1234/0/"; `head` is empty if the probe does not want directory strings.
    void set_dirs(const std::string& head, const std::string& true_head);

    // Gives every internal tensor of a graph a place in the workspace; it is free again after its last
    // reader, for nested graphs too: `dying[i]` says that nobody reads input i after this operation. Released
    // inputs are cleared.
    void plan(WorkspacePlan& workspace, const ShapeList& inputs, const std::vector<size_t>& input_offsets,
              std::vector<bool>& dying);
    void bind(std::byte* workspace, TensorList inputs, TensorList outputs);

    void prepare(Context& context);
    void fill_tilings(Context& context, uint64_t round);
    void execute(Context& context, uint64_t round);

  private:
    TensorList select(const std::vector<size_t>& tensor_ids) const;
    void compute(Context& context, uint64_t round, const TensorList& inputs, TensorList& outputs);
    void report_io(uint64_t round, const TensorList& inputs, const TensorList& outputs) const;

    const Operation& operation_;
    std::vector<int64_t> ids_;
    std::string path_;
    std::string dir_;
    std::string true_dir_;
    bool wanted_ = false;
    ShapeList shapes_;             // of all tensors: inputs, outputs, internals
    std::vector<size_t> offsets_;  // of the internals, in the workspace
    TensorList tensors_;
    std::vector<std::unique_ptr<Runner>> children_;
    std::unique_ptr<KernelRunner> kernel_;
};

}  // namespace atbprobe::standin
