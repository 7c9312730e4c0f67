// How often each operation was executed under one program, for rules with `next`.
//
// A hash table that only grows, shared by all threads without a lock: a thread adds an operation in front of its
// bucket's list by one compare-and-swap, and counts by one fetch-and-add. An operation is told by its directory
// without the count of setups, in all its bytes. The memory is bounded, since names come from outside: operations
// beyond the bound count as executed ever so often, so that no rule takes them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace atbprobe {

class ExecutionCounts {
  public:
    // Null without memory. To be freed by `destroy`, when no thread uses it any more.
    static ExecutionCounts* create();
    void destroy();

    // The executions of the operation of `dir` that were counted so far.
    uint64_t count_of(const char* dir, size_t length) const;

    // Counts one more and returns how many came before it.
    uint64_t add(const char* dir, size_t length);

    // Begins anew. Only while no other thread uses it.
    void clear();

  private:
    struct Node;
    struct Key;

    static constexpr size_t kBuckets = size_t{1} << 16;
    static constexpr size_t kMostNodeBytes = size_t{128} << 20;

    const std::atomic<Node*>& bucket_of(const Key& key) const;
    Key key_of(const char* dir, size_t length) const;
    Node* make_node(const Key& key);

    uint64_t seeds_[2];
    std::atomic<size_t> node_bytes_;
    std::atomic<Node*> buckets_[kBuckets];
};

}  // namespace atbprobe
