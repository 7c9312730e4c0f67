#include "json_tree.h"

#include <pthread.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "json_number.h"

// The parser alone, with those parts of Boost.JSON's src.hpp that it needs; the first header is one that they take for
// granted. The default memory resource is made at first use instead of at load.
#define BOOST_JSON_WEAK_CONSTINIT
#include <boost/system/system_error.hpp>
// That one first.
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/detail/charconv/impl/from_chars.ipp>
#include <boost/json/detail/impl/default_resource.ipp>
#include <boost/json/detail/impl/except.ipp>
#include <boost/json/detail/impl/shared_resource.ipp>
#include <boost/json/detail/impl/stack.ipp>
#include <boost/json/impl/error.ipp>

namespace atbprobe {
namespace {

using boost::system::error_code;

// The parser calls itself for each level. It takes about 100 bytes of stack a level; the rest is for builds with
// sanitizers, and for whoever set up a small stack.
constexpr size_t kMaxDepth = 8192;
constexpr size_t kStackOfLevel = 768;
constexpr size_t kStackReserve = size_t{64} << 10U;

size_t stack_left() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    void* lowest = nullptr;
    size_t size = 0;
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    const char* here = static_cast<const char*>(__builtin_frame_address(0));
    const auto left = here - static_cast<const char*>(lowest);
    return left > 0 ? static_cast<size_t>(left) : 0;
}

size_t depth_that_fits() {
    const size_t left = stack_left();
    return left <= kStackReserve ? 0 : std::min(kMaxDepth, (left - kStackReserve) / kStackOfLevel);
}

bool lies_in(std::string_view text, std::string_view part) {
    const std::less_equal<> not_after;
    return not_after(text.data(), part.data()) && not_after(part.data() + part.size(), text.data() + text.size());
}

bool is_container(const JsonNode& node) { return node.is(JsonNode::Kind::kArray) || node.is(JsonNode::Kind::kObject); }

}  // namespace

// Takes the parser's events. Finished values wait on a stack until their container ends.
class JsonTree::Builder {
  public:
    // NOLINTBEGIN(readability-identifier-naming): what the parser asks for
    static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
    static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
    static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
    static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();
    // NOLINTEND(readability-identifier-naming)

    Builder(JsonTree* tree, std::string_view source) : tree_(tree), source_(source) {}

    bool on_document_begin(error_code&) { return true; }
    bool on_document_end(error_code&) {
        tree_->root_ = values_.back();
        return true;
    }
    bool on_array_begin(error_code&) { return true; }
    bool on_array_end(size_t count, error_code&) {
        close(JsonNode::Kind::kArray, count);
        return true;
    }
    bool on_object_begin(error_code&) { return true; }
    bool on_object_end(size_t count, error_code&) {
        take_keys(count);
        close(JsonNode::Kind::kObject, unite_duplicates(count));
        return true;
    }
    bool on_string_part(std::string_view part, size_t, error_code&) {
        parts_ += part;
        return true;
    }
    bool on_string(std::string_view part, size_t, error_code&) {
        push(JsonNode::Kind::kString, joined(part));
        return true;
    }
    bool on_key_part(std::string_view part, size_t, error_code&) {
        parts_ += part;
        return true;
    }
    bool on_key(std::string_view part, size_t, error_code&) {
        keys_.push_back(joined(part));
        return true;
    }
    // The whole text comes at once, and so does every number.
    bool on_number_part(std::string_view, error_code&) { return true; }
    bool on_int64(int64_t value, std::string_view text, error_code&) {
        push(JsonNode::Kind::kInteger, value == 0 ? "0" : text);
        return true;
    }
    bool on_uint64(uint64_t, std::string_view text, error_code&) {
        push(JsonNode::Kind::kInteger, text);
        return true;
    }
    bool on_double(double value, std::string_view text, error_code&) {
        push(JsonNode::Kind::kReal, keep(json_real_text(text, value)));
        return true;
    }
    bool on_bool(bool value, error_code&) {
        push(JsonNode::Kind::kLiteral, value ? "true" : "false");
        return true;
    }
    bool on_null(error_code&) {
        push(JsonNode::Kind::kLiteral, "null");
        return true;
    }
    bool on_comment_part(std::string_view, error_code&) { return true; }
    bool on_comment(std::string_view, error_code&) { return true; }

  private:
    void push(JsonNode::Kind kind, std::string_view text) {
        JsonNode& node = tree_->nodes_.emplace_back();
        node.kind = kind;
        node.text = text;
        values_.push_back(&node);
    }

    std::string_view keep(std::string text) { return tree_->strings_.emplace_back(std::move(text)); }

    // What was unescaped lies in the parser's buffer, which is used again.
    std::string_view joined(std::string_view last_part) {
        if (parts_.empty() && lies_in(source_, last_part)) return last_part;
        parts_ += last_part;
        const std::string_view whole = keep(std::move(parts_));
        parts_.clear();
        return whole;
    }

    void take_keys(size_t count) {
        for (size_t i = 0; i < count; ++i) values_[values_.size() - count + i]->key = keys_[keys_.size() - count + i];
        keys_.resize(keys_.size() - count);
    }

    // Of members with the same key the first one's place is kept and the last one's value, as most parsers do.
    // Returns how many members are left.
    size_t unite_duplicates(size_t count) {
        const auto begin = values_.end() - static_cast<std::ptrdiff_t>(count);
        std::vector<JsonNode*> sorted(begin, values_.end());
        const auto key_is_less = [](const JsonNode* a, const JsonNode* b) { return a->key < b->key; };
        std::stable_sort(sorted.begin(), sorted.end(), key_is_less);
        std::vector<const JsonNode*> replaced;
        for (size_t i = 0; i < sorted.size();) {
            size_t end = i + 1;
            while (end < sorted.size() && sorted[end]->key == sorted[i]->key) ++end;
            if (end > i + 1) *sorted[i] = *sorted[end - 1];
            for (size_t later = i + 1; later < end; ++later) replaced.push_back(sorted[later]);
            i = end;
        }
        if (replaced.empty()) return count;
        std::sort(replaced.begin(), replaced.end());
        const auto is_replaced = [&](const JsonNode* node) {
            return std::binary_search(replaced.begin(), replaced.end(), node);
        };
        values_.erase(std::remove_if(begin, values_.end(), is_replaced), values_.end());
        return count - replaced.size();
    }

    void close(JsonNode::Kind kind, size_t count) {
        const JsonNode* first = nullptr;
        for (; count > 0; --count) {
            values_.back()->next = first;
            first = values_.back();
            values_.pop_back();
        }
        push(kind, {});
        values_.back()->first = first;
    }

    JsonTree* tree_;
    std::string_view source_;
    std::vector<JsonNode*> values_;
    std::vector<std::string_view> keys_;
    std::string parts_;
};

const JsonNode* JsonNode::member(std::string_view name) const {
    const JsonNode* found = is(Kind::kObject) ? first : nullptr;
    while (found != nullptr && found->key != name) found = found->next;
    return found;
}

const char* JsonTree::parse(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
    boost::json::parse_options options;
    options.max_depth = depth_that_fits();
    options.numbers = boost::json::number_precision::precise;
    boost::json::basic_parser<Builder> parser(options, this, text);
    error_code error;
    const size_t parsed = parser.write_some(false, text.data(), text.size(), error);
    if (error == boost::json::error::too_deep) return "nested too deep";
    return error.failed() || parsed != text.size() || root_ == nullptr ? "not JSON" : nullptr;
}

void append_json_string(std::string_view content, std::string* text) {
    constexpr char kDigits[] = "0123456789abcdef";
    constexpr std::string_view kShortEscaped = "\"\\\b\f\n\r\t";
    constexpr std::string_view kShortEscapes = "\"\\bfnrt";
    *text += '"';
    for (const char character : content) {
        const size_t place = kShortEscaped.find(character);
        const auto byte = static_cast<unsigned char>(character);
        if (place != std::string_view::npos) {
            *text += '\\';
            *text += kShortEscapes[place];
        } else if (byte < 0x20) {
            *text += "\\u00";
            *text += kDigits[byte >> 4U];
            *text += kDigits[byte & 15U];
        } else {
            *text += character;
        }
    }
    *text += '"';
}

void append_json_key(std::string_view key, std::string* text) {
    append_json_string(key, text);
    *text += ':';
}

void append_json(const JsonNode& value, std::string* text) {
    std::vector<const JsonNode*> open;
    const auto closing = [](const JsonNode& node) { return node.is(JsonNode::Kind::kArray) ? ']' : '}'; };
    const JsonNode* at = &value;
    for (;;) {
        if (!open.empty() && open.back()->is(JsonNode::Kind::kObject)) append_json_key(at->key, text);
        if (at->is(JsonNode::Kind::kString)) {
            append_json_string(at->text, text);
        } else if (!is_container(*at)) {
            *text += at->text;
        } else {
            *text += at->is(JsonNode::Kind::kArray) ? '[' : '{';
            if (at->first != nullptr) {
                open.push_back(at);
                at = at->first;
                continue;
            }
            *text += closing(*at);
        }
        while (!open.empty() && at->next == nullptr) {
            at = open.back();
            open.pop_back();
            *text += closing(*at);
        }
        if (open.empty()) return;
        *text += ',';
        at = at->next;
    }
}

}  // namespace atbprobe
