#include "open_operations.h"

#include <cstdlib>
#include <cstring>

namespace atbprobe {
namespace {

constexpr size_t kFirstOperations = 16;
constexpr size_t kFirstDirBytes = 512;

bool grow(void** memory, size_t* capacity, size_t needed, size_t first, size_t item_bytes) {
    if (needed <= *capacity) return true;
    size_t capacity_wanted = *capacity == 0 ? first : *capacity;
    while (capacity_wanted < needed) {
        if (capacity_wanted > SIZE_MAX / 2 / item_bytes) return false;
        capacity_wanted *= 2;
    }
    void* grown = realloc(*memory, capacity_wanted * item_bytes);
    if (grown == nullptr) return false;
    *memory = grown;
    *capacity = capacity_wanted;
    return true;
}

}  // namespace

bool OpenOperations::is_on_the_way(const OpenOperation& operation, const char* dir, size_t length) const {
    const size_t prefix = operation.dir_length;
    if (length < prefix || memcmp(dir_, dir, prefix) != 0) return false;
    return length == prefix || dir[prefix] == '/';
}

OpenOperation* OpenOperations::find(uint64_t round, const char* dir, size_t length) {
    while (count_ != 0 && !is_on_the_way(operations_[count_ - 1], dir, length)) close_innermost();
    if (count_ == 0) return nullptr;
    OpenOperation& innermost = operations_[count_ - 1];
    if (innermost.dir_length != length) return nullptr;
    if (innermost.round == round && innermost.begun) return &innermost;
    close_innermost();  // an earlier execution in the same directory, or one that never began
    return nullptr;
}

OpenOperation* OpenOperations::open(uint64_t round, const char* dir, size_t length, uint64_t rules) {
    void* operations = operations_;
    void* text = dir_;
    const bool has_room = grow(&operations, &capacity_, count_ + 1, kFirstOperations, sizeof(OpenOperation)) &&
                          grow(&text, &dir_capacity_, length + 1, kFirstDirBytes, 1);
    operations_ = static_cast<OpenOperation*>(operations);
    dir_ = static_cast<char*>(text);
    if (!has_room) return nullptr;
    const size_t known = count_ == 0 ? 0 : operations_[count_ - 1].dir_length;
    memcpy(dir_ + known, dir + known, length - known);
    OpenOperation* operation = &operations_[count_++];
    *operation = OpenOperation{round, length, rules, {}, 0, false, true, false, nullptr};
    return operation;
}

bool OpenOperations::innermost_contains(const char* path, size_t length) const {
    return count_ != 0 && is_on_the_way(operations_[count_ - 1], path, length);
}

}  // namespace atbprobe
