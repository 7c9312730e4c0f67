// What the operations of one stream of execution share: workspace memory, cached tilings, and the counted
// traffic between the "device" and the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor.h"

namespace atbprobe::standin {

class Expectation;
struct Fault;

// Summed over all contexts of the process.
struct HostCounters {
    std::atomic<uint64_t> device_to_host_copies{0};
    std::atomic<uint64_t> copied_bytes{0};
    std::atomic<uint64_t> stream_synchronisations{0};
    std::atomic<uint64_t> setups{0};
    std::atomic<uint64_t> executes{0};
};

// Places in the workspace, handed out while an operation is set up. A released place is handed out again, so
// that, as on the device, what a dump finds in an output before the run is old data.
class WorkspacePlan {
  public:
    size_t allocate(size_t bytes);
    void release(size_t offset);
    size_t size() const { return size_; }

  private:
    struct Block {
        size_t offset;
        size_t bytes;
        bool free;
    };
    std::vector<Block> blocks_;
    size_t size_ = 0;
};

// For each type of operation, the shapes of the kernel whose tiling was computed last.
class TilingCache {
  public:
    bool holds(const std::string& op_type, const ShapeList& shapes) const;
    void put(const std::string& op_type, const ShapeList& shapes);

  private:
    std::map<std::string, ShapeList> last_;
};

class Context {
  public:
    // `expectation` and `fault` may be null.
    Context(HostCounters& counters, Expectation* expectation, const Fault* fault);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    void synchronise_stream();
    // The copy is good until the next call.
    const std::byte* copy_to_host(const Tensor& tensor);
    // Workspace of at least that many bytes. Good until the next call.
    std::byte* workspace(size_t bytes);

    HostCounters& counters() { return counters_; }
    TilingCache& tilings() { return tilings_; }
    Expectation* expectation() { return expectation_; }
    const Fault* fault() const { return fault_; }

  private:
    HostCounters& counters_;
    Expectation* expectation_;
    const Fault* fault_;
    TilingCache tilings_;
    std::vector<std::byte> workspace_;
    std::vector<std::byte> host_buffer_;
};

}  // namespace atbprobe::standin
