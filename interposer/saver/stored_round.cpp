#include "stored_round.h"

#include <algorithm>
#include <utility>

namespace atbprobe {
namespace {

// Nodes of both maps, their strings' heads and the allocator's own, generously.
constexpr size_t kRecordBytes = 320;

int64_t record_bytes(const std::string& file) { return static_cast<int64_t>(kRecordBytes + 2 * file.size()); }

}  // namespace

bool StoredRound::is_complete() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return is_complete_;
}

void StoredRound::set_without_references() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [key, content] : contents_) {
        for (const std::string& reference : content.references) forget_file(reference);
        content.references.clear();
    }
    is_complete_ = true;
}

bool StoredRound::is_recorded(const std::string& file) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return files_.find(file) != files_.end();
}

bool StoredRound::take_memory(const std::string& file) {
    const int64_t bytes = record_bytes(file);
    if (budget_->fetch_sub(bytes, std::memory_order_relaxed) < bytes) {
        budget_->fetch_add(bytes, std::memory_order_relaxed);
        return false;
    }
    taken_ += bytes;
    return true;
}

void StoredRound::forget_file(const std::string& file) noexcept {
    if (files_.erase(file) == 0) return;
    const int64_t bytes = record_bytes(file);
    budget_->fetch_add(bytes, std::memory_order_relaxed);
    taken_ -= bytes;
}

StoredRound::Step StoredRound::begin(const std::string& file, const ContentKey& key, bool may_refer, SaveItem* item,
                                     std::string* home) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto recorded = files_.find(file);
    if (recorded != files_.end() && !(recorded->second == key)) return Step::kReplaces;
    const auto known = contents_.find(key);
    if (known == contents_.end()) {
        if (!take_memory(file)) return Step::kUntracked;
        const auto fresh = contents_.try_emplace(key).first;
        try {
            fresh->second.home = file;
            files_.insert_or_assign(file, key);
        } catch (...) {
            contents_.erase(fresh);
            throw;
        }
        return Step::kFirst;
    }
    if (!may_refer && recorded == files_.end()) return Step::kUntracked;
    Content& content = known->second;
    if (content.is_in_place) {
        *home = content.home;
        return Step::kStored;
    }
    item->next_waiting = content.waiting;
    content.waiting = item;
    return Step::kWaits;
}

SaveItem* StoredRound::stored(const ContentKey& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Content& content = contents_.find(key)->second;
    content.is_in_place = true;
    return std::exchange(content.waiting, nullptr);
}

SaveItem* StoredRound::failed(const ContentKey& key) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = contents_.find(key);
    SaveItem* waiting = known->second.waiting;
    forget_file(known->second.home);
    contents_.erase(known);
    return waiting;
}

bool StoredRound::add_reference(const std::string& file, const ContentKey& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (files_.find(file) != files_.end()) return true;
    if (!take_memory(file)) return false;
    std::vector<std::string>& references = contents_.find(key)->second.references;
    references.push_back(file);
    try {
        files_.emplace(file, key);
    } catch (...) {
        references.pop_back();
        throw;
    }
    return true;
}

std::vector<std::string> StoredRound::references_to(const std::string& file) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto recorded = files_.find(file);
    if (recorded == files_.end()) return {};
    const Content& content = contents_.find(recorded->second)->second;
    return content.home == file ? content.references : std::vector<std::string>();
}

std::optional<ContentKey> StoredRound::forget(const std::string& file) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto recorded = files_.find(file);
    if (recorded == files_.end()) return std::nullopt;
    const ContentKey key = recorded->second;
    const auto known = contents_.find(key);
    forget_file(file);
    std::vector<std::string>& references = known->second.references;
    if (known->second.home != file) {
        references.erase(std::remove(references.begin(), references.end(), file), references.end());
        return key;
    }
    for (const std::string& reference : references) forget_file(reference);
    contents_.erase(known);
    return std::nullopt;
}

}  // namespace atbprobe
