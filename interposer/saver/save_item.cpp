#include "save_item.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

namespace atbprobe {
namespace {

// The data begins on a cache line: vector loads over it never straddle one.
constexpr uint64_t kDataAlignment = 64;

uint64_t text_bytes(const TensorCall& call) {
    return call.dtype.size() + call.format.size() + call.dims.size() + call.path.size();
}

std::string_view copy_text(std::string_view text, char** end) {
    if (!text.empty()) std::memcpy(*end, text.data(), text.size());
    const std::string_view copy(*end, text.size());
    *end += text.size();
    return copy;
}

TensorPath parse_path(SaveItem::Kind kind, std::string_view path) {
    return kind == SaveItem::Kind::kTensor ? parse_tensor_path(path) : parse_param_path(path);
}

}  // namespace

SaveItem borrowed_item(SaveItem::Kind kind, const TensorCall& call, const SaveOrder& order, RowOrder::Place* row) {
    SaveItem item;
    item.kind = kind;
    item.order = order;
    item.call = call;
    item.path = parse_path(kind, call.path);
    item.row = row;
    item.path_key = std::hash<std::string_view>()(call.path);
    return item;
}

uint64_t copy_size(const TensorCall& call) { return sizeof(SaveItem) + text_bytes(call) + kDataAlignment + call.bytes; }

CopiedItem copy_without_data(const SaveItem& item, std::byte** data) {
    void* memory = std::malloc(copy_size(item.call));
    if (memory == nullptr) return nullptr;
    CopiedItem copy(new (memory) SaveItem(item));
    char* end = static_cast<char*>(memory) + sizeof(SaveItem);
    TensorCall& call = copy->call;
    call.dtype = copy_text(item.call.dtype, &end);
    call.format = copy_text(item.call.format, &end);
    call.dims = copy_text(item.call.dims, &end);
    call.path = copy_text(item.call.path, &end);
    copy->path = parse_path(item.kind, call.path);
    end += (kDataAlignment - reinterpret_cast<uintptr_t>(end) % kDataAlignment) % kDataAlignment;
    call.data = end;
    copy->is_copy = true;
    *data = reinterpret_cast<std::byte*>(end);
    return copy;
}

CopiedItem copy_item(const SaveItem& item) {
    std::byte* data = nullptr;
    CopiedItem copy = copy_without_data(item, &data);
    if (copy != nullptr && item.call.bytes > 0) std::memcpy(data, item.call.data, item.call.bytes);
    return copy;
}

void SaveItemDeleter::operator()(SaveItem* item) const {
    item->~SaveItem();
    std::free(item);
}

}  // namespace atbprobe
