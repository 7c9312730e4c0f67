#include "context.h"

#include <cstring>

#include "probe.h"

namespace atbprobe::standin {

size_t WorkspacePlan::allocate(size_t bytes) {
    for (Block& block : blocks_) {
        if (block.free && block.bytes >= bytes) {
            block.free = false;
            return block.offset;
        }
    }
    constexpr size_t kAlignment = 32;
    const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    blocks_.push_back({size_, rounded, false});
    size_ += rounded;
    return blocks_.back().offset;
}

void WorkspacePlan::release(size_t offset) {
    for (Block& block : blocks_) {
        if (block.offset == offset) {
            block.free = true;
        }
    }
}

bool TilingCache::holds(const std::string& op_type, const ShapeList& shapes) const {
    const auto entry = last_.find(op_type);
    return entry != last_.end() && entry->second == shapes;
}

void TilingCache::put(const std::string& op_type, const ShapeList& shapes) { last_[op_type] = shapes; }

Context::Context(HostCounters& counters, Expectation* expectation, const Fault* fault)
    : counters_(counters), expectation_(expectation), fault_(fault) {
    // Twice, as in every record of the real host.
    atb::Probe::IsOverflowCheck();
    atb::Probe::IsOverflowCheck();
}

Context::~Context() { atb::Probe::IsOverflowCheck(); }

void Context::synchronise_stream() { ++counters_.stream_synchronisations; }

const std::byte* Context::copy_to_host(const Tensor& tensor) {
    const size_t bytes = tensor.shape.bytes();
    if (host_buffer_.size() < bytes) {
        host_buffer_.resize(bytes);
    }
    if (bytes != 0) {
        std::memcpy(host_buffer_.data(), tensor.data, bytes);
    }
    ++counters_.device_to_host_copies;
    counters_.copied_bytes += bytes;
    return host_buffer_.data();
}

std::byte* Context::workspace(size_t bytes) {
    if (workspace_.size() < bytes) {
        workspace_.resize(bytes);
    }
    return workspace_.data();
}

}  // namespace atbprobe::standin
