#include "execution_counts.h"

#include <sys/auxv.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "log.h"

namespace atbprobe {
namespace {

constexpr uint64_t kEverSoOften = UINT64_MAX;

LogOnce g_complained_of_room;

// Folds the product of both into 64 bits: with seeds that nobody outside knows, names cannot be made to collide.
uint64_t multiply(uint64_t left, uint64_t right) {
    __extension__ using Product = unsigned __int128;
    const Product product = static_cast<Product>(left) * right;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_text(uint64_t hash, const uint64_t* seeds, const char* text, size_t length) {
    for (size_t done = 0; done < length; done += sizeof(uint64_t)) {
        uint64_t word = 0;
        const size_t left = length - done;
        memcpy(&word, text + done, left < sizeof(word) ? left : sizeof(word));
        hash = multiply(hash ^ word ^ seeds[0], seeds[1]);
    }
    return multiply(hash ^ length, seeds[1]);
}

}  // namespace

// A directory without its count: `<device>_<pid>/` and the op path.
struct ExecutionCounts::Key {
    uint64_t hash;
    const char* head;
    size_t head_length;
    const char* path;
    size_t path_length;
};

struct ExecutionCounts::Node {
    Node* next;
    std::atomic<uint64_t> count;
    uint64_t hash;
    size_t head_length;
    size_t path_length;

    char* text() { return reinterpret_cast<char*>(this + 1); }

    bool is(const Key& key) {
        return hash == key.hash && head_length == key.head_length && path_length == key.path_length &&
               memcmp(text(), key.head, head_length) == 0 && memcmp(text() + head_length, key.path, path_length) == 0;
    }

    // The node of `key` in the list from `first` up to, not including, `end`.
    static Node* find(Node* first, const Node* end, const Key& key) {
        for (; first != end; first = first->next) {
            if (first->is(key)) return first;
        }
        return nullptr;
    }
};

ExecutionCounts* ExecutionCounts::create() {
    // Zeroed pages of the system, so that buckets cost memory only once they are used.
    void* memory = calloc(1, sizeof(ExecutionCounts));
    if (memory == nullptr) return nullptr;
    auto* counts = static_cast<ExecutionCounts*>(memory);
    const unsigned long address = getauxval(AT_RANDOM);  // of 16 bytes that the kernel has made up for this process
    const void* random = nullptr;
    memcpy(&random, &address, sizeof(random));
    if (random != nullptr) memcpy(counts->seeds_, random, sizeof(counts->seeds_));
    counts->seeds_[0] ^= reinterpret_cast<uintptr_t>(memory);
    counts->seeds_[1] |= 1;
    return counts;
}

void ExecutionCounts::destroy() {
    clear();
    free(this);
}

void ExecutionCounts::clear() {
    for (std::atomic<Node*>& bucket : buckets_) {
        Node* node = bucket.load(std::memory_order_relaxed);
        if (node == nullptr) continue;
        bucket.store(nullptr, std::memory_order_relaxed);
        while (node != nullptr) {
            Node* next = node->next;
            free(node);
            node = next;
        }
    }
    node_bytes_.store(0, std::memory_order_relaxed);
}

ExecutionCounts::Key ExecutionCounts::key_of(const char* dir, size_t length) const {
    const char* const end = dir + length;
    const auto after_slash = [end](const char* text) {
        const void* slash = memchr(text, '/', static_cast<size_t>(end - text));
        return slash == nullptr ? end : static_cast<const char*>(slash) + 1;
    };
    const char* const head_end = after_slash(dir);
    const char* const path = after_slash(head_end);
    Key key = {0, dir, static_cast<size_t>(head_end - dir), path, static_cast<size_t>(end - path)};
    key.hash = hash_text(hash_text(0, seeds_, key.head, key.head_length), seeds_, key.path, key.path_length);
    return key;
}

const std::atomic<ExecutionCounts::Node*>& ExecutionCounts::bucket_of(const Key& key) const {
    return buckets_[key.hash % kBuckets];
}

ExecutionCounts::Node* ExecutionCounts::make_node(const Key& key) {
    const size_t bytes = sizeof(Node) + key.head_length + key.path_length;
    const size_t used = node_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    void* memory = used > kMostNodeBytes || bytes > kMostNodeBytes - used ? nullptr : malloc(bytes);
    if (memory == nullptr) {
        node_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        return nullptr;
    }
    Node* node = new (memory) Node{nullptr, {0}, key.hash, key.head_length, key.path_length};
    memcpy(node->text(), key.head, key.head_length);
    memcpy(node->text() + key.head_length, key.path, key.path_length);
    return node;
}

uint64_t ExecutionCounts::count_of(const char* dir, size_t length) const {
    const Key key = key_of(dir, length);
    Node* node = Node::find(bucket_of(key).load(std::memory_order_acquire), nullptr, key);
    return node == nullptr ? 0 : node->count.load(std::memory_order_relaxed);
}

uint64_t ExecutionCounts::add(const char* dir, size_t length) {
    const Key key = key_of(dir, length);
    std::atomic<Node*>& bucket = const_cast<std::atomic<Node*>&>(bucket_of(key));
    Node* first = bucket.load(std::memory_order_acquire);
    Node* node = Node::find(first, nullptr, key);
    if (node != nullptr) return node->count.fetch_add(1, std::memory_order_relaxed);

    Node* added = make_node(key);
    if (added == nullptr) {
        log_once(g_complained_of_room, LogLevel::kWarning,
                 "more operations than rules with next can count: those rules take none beyond");
        return kEverSoOften;
    }
    for (;;) {
        const Node* const looked_through = first;
        added->next = first;
        added->count.store(1, std::memory_order_relaxed);
        if (bucket.compare_exchange_weak(first, added, std::memory_order_acq_rel, std::memory_order_acquire)) return 0;
        // Others came first, perhaps with the same operation.
        node = Node::find(first, looked_through, key);
        if (node == nullptr) continue;
        node_bytes_.fetch_sub(sizeof(Node) + key.head_length + key.path_length, std::memory_order_relaxed);
        free(added);
        return node->count.fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace atbprobe
