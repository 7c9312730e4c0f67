#include "ops_listing.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include "process_lock.h"

namespace atbprobe {
namespace {

constexpr size_t kFlushBytes = size_t{64} << 10U;
constexpr size_t kMaxRecordBytes = size_t{1} << 20U;
constexpr size_t kMaxLayers = size_t{1} << 16U;

// All that the listings of this process have written, so that together they stay within bounds.
std::atomic<size_t> g_written{0};

template <typename Number>
void add_number(std::string* bytes, Number number) {
    bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void add_text(std::string* bytes, std::string_view text) {
    add_number(bytes, static_cast<uint32_t>(text.size()));
    bytes->append(text);
}

// `<device>_<pid>/<count>/<component>…`: the components, or nothing where there are none.
std::string_view path_of(std::string_view dir) {
    const size_t head = dir.find('/');
    const size_t count = head == std::string_view::npos ? head : dir.find('/', head + 1);
    return count == std::string_view::npos ? std::string_view() : dir.substr(count + 1);
}

bool is_layer(std::string_view dir) {
    const std::string_view path = path_of(dir);
    return !path.empty() && path.find('/') == std::string_view::npos;
}

std::string_view first_path(const TensorDescriptions& inputs, const TensorDescriptions& outputs) {
    for (const TensorDescriptions* side : {&inputs, &outputs}) {
        for (size_t i = 0; i < side->count; ++i) {
            const std::string_view path = side->at(side->tensors, i).path;
            if (!path.empty()) return path;
        }
    }
    return {};
}

size_t text_bytes(const TensorDescriptions& side) {
    size_t bytes = 0;
    for (size_t i = 0; i < side.count && bytes <= kMaxRecordBytes; ++i) {
        const TensorDescription tensor = side.at(side.tensors, i);
        bytes += tensor.dtype.size() + tensor.format.size() + tensor.shape.size() + 3 * sizeof(uint32_t);
    }
    return bytes;
}

void add_tensors(std::string* content, const TensorDescriptions& side) {
    for (size_t i = 0; i < side.count; ++i) {
        const TensorDescription tensor = side.at(side.tensors, i);
        for (const std::string_view text : {tensor.dtype, tensor.format, tensor.shape}) add_text(content, text);
    }
}

}  // namespace

OpsListing::OpsListing(const ListingRequest& request, std::string channel_folder)
    : request_(request), channel_folder_(std::move(channel_folder)), buffer_(kListingMagic, sizeof(kListingMagic)) {}

OpsListing::~OpsListing() { g_written.fetch_sub(written_, std::memory_order_relaxed); }

void OpsListing::round_asked(uint64_t round) {
    round_ = round;
    stage_ = Stage::kRound;
}

bool OpsListing::dir_asked(std::string_view dir) {
    const Stage stage = std::exchange(stage_, Stage::kNone);
    if (stage != Stage::kRound && stage != Stage::kKernelPass) return false;
    asked_dir_ = dir;
    asked_kind_ = stage == Stage::kRound ? OpKind::kOperation : OpKind::kKernel;
    if (asked_kind_ == OpKind::kOperation && is_layer(dir)) {
        stage_ = Stage::kLayerDir;
        return true;
    }
    if (is_listing_ && !is_told(dir)) note(asked_kind_);
    return false;
}

bool OpsListing::pass_asked(Pass pass) {
    const Stage stage = std::exchange(stage_, Stage::kNone);
    if (stage == Stage::kRound) {
        stage_ = Stage::kKernelPass;
        return true;
    }
    if (stage == Stage::kLayerDir && pass == Pass::kBefore) begin_layer();
    return false;
}

bool OpsListing::executed() {
    stage_ = Stage::kNone;
    if (is_layer(asked_dir_)) flush();
    return is_listing_ && !is_over_;
}

void OpsListing::report(const IoReport& report) {
    if (!is_listing_ || is_over_) return;
    const std::string_view path = first_path(report.inputs, report.outputs);
    const std::string_view dir = report.kind == asked_kind_ ? std::string_view(asked_dir_) : std::string_view();
    if (text_bytes(report.inputs) + text_bytes(report.outputs) + path.size() + dir.size() + report.name.size() >
        kMaxRecordBytes)
        return finish(ListingEnd::kTooLarge);
    std::string content;
    add_number(&content, report.round);
    for (const std::string_view text : {dir, path, report.name}) add_text(&content, text);
    add_number(&content, static_cast<uint32_t>(report.inputs.count));
    add_number(&content, static_cast<uint32_t>(report.outputs.count));
    add_tensors(&content, report.inputs);
    add_tensors(&content, report.outputs);
    const bool is_kernel = report.kind == OpKind::kKernel;
    add_record(is_kernel ? ListingRecord::kKernelTensors : ListingRecord::kOperationTensors, content);
    if (is_layer(asked_dir_)) flush();
}

void OpsListing::thread_ends() {
    if (is_listing_ && !is_over_) finish(ListingEnd::kThreadEnded);
}

void OpsListing::begin_layer() {
    const std::string_view layer = path_of(asked_dir_);
    auto known = executions_.find(layer);
    if (known == executions_.end()) {
        if (executions_.size() == kMaxLayers) return finish(ListingEnd::kTooLarge);
        known = executions_.emplace(layer, 0).first;
    }
    if (known->second == request_.rounds) return finish(ListingEnd::kComplete);
    ++known->second;
    note(OpKind::kOperation);
    // From now on whoever asks can see that this thread answers.
    if (!std::exchange(is_listing_, true)) flush();
}

// Whether this is a later question about an execution that was written down: of the last op, or of one that it is part
// of.
bool OpsListing::is_told(std::string_view dir) const {
    return round_ == told_round_ && told_dir_.compare(0, dir.size(), dir) == 0 &&
           (told_dir_.size() == dir.size() || told_dir_[dir.size()] == '/');
}

void OpsListing::note(OpKind kind) {
    told_dir_ = asked_dir_;
    told_round_ = round_;
    if (told_dir_.size() > kMaxRecordBytes) return finish(ListingEnd::kTooLarge);
    std::string content;
    add_number(&content, round_);
    add_text(&content, told_dir_);
    add_record(kind == OpKind::kKernel ? ListingRecord::kKernel : ListingRecord::kOperation, content);
}

void OpsListing::add_record(ListingRecord kind, const std::string& content) {
    if (is_over_) return;
    const ListingRecordHeader header{static_cast<uint32_t>(kind), static_cast<uint32_t>(content.size())};
    add_number(&buffer_, header);
    buffer_ += content;
    if (buffer_.size() >= kFlushBytes) flush();
    if (g_written.load(std::memory_order_relaxed) + buffer_.size() > kMaxListingBytes) finish(ListingEnd::kTooLarge);
}

void OpsListing::finish(ListingEnd reason) {
    if (is_over_) return;
    is_listing_ = false;
    std::string content;
    add_number(&content, static_cast<uint32_t>(reason));
    const ListingRecordHeader header{static_cast<uint32_t>(ListingRecord::kEnd), static_cast<uint32_t>(content.size())};
    add_number(&buffer_, header);
    buffer_ += content;
    flush();
    is_over_ = true;
}

// A thread that is inside the lock already, as the handlers of a fork are, goes on without; its bytes stay in the
// buffer.
void OpsListing::flush() {
    if (is_over_ || buffer_.empty() || (written_ == 0 && executions_.empty())) return;
    const ProcessLock lock;
    if (!lock.is_taken()) return;
    const int error = append_to_answer(channel_folder_, request_, buffer_, written_);
    if (error != 0) return give_up(-error);
    written_ += buffer_.size();
    g_written.fetch_add(buffer_.size(), std::memory_order_relaxed);
    buffer_.clear();
}

void OpsListing::give_up(int error) {
    is_over_ = true;
    is_listing_ = false;
    failure_ = error == ENOENT || error == ESRCH ? 0 : error;
}

}  // namespace atbprobe
