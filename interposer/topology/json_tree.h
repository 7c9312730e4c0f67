// A JSON text as a tree that keeps what is to be written again as it was: the order of the members, and the digits of
// the numbers. Parsed by Boost.JSON's parser; its own values would turn numbers into doubles and carry stream
// operators with constructors that run at load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace atbprobe {

struct JsonNode {
    enum class Kind : uint8_t { kLiteral, kInteger, kReal, kString, kArray, kObject };

    Kind kind = Kind::kLiteral;
    std::string_view text;  // of a string what it means, of the others but containers what is to be written
    std::string_view key;   // of a member of an object
    const JsonNode* first = nullptr;
    const JsonNode* next = nullptr;

    // The member of that name, or null; also if this is no object.
    const JsonNode* member(std::string_view name) const;

    bool is(Kind wanted) const { return kind == wanted; }
};

class JsonTree {
  public:
    // Parses `text`, which must outlive the tree. Null, or what is wrong with it. May throw std::bad_alloc.
    const char* parse(std::string_view text);

    const JsonNode& root() const { return *root_; }

  private:
    class Builder;

    std::deque<JsonNode> nodes_;
    std::deque<std::string> strings_;
    const JsonNode* root_ = nullptr;
};

// Append a value, a string, or the key of a member with its colon; without blanks, escaping no more than JSON demands.
void append_json(const JsonNode& value, std::string* text);
void append_json_string(std::string_view content, std::string* text);
void append_json_key(std::string_view key, std::string* text);

}  // namespace atbprobe
