#include "disk_name.h"

#include <boost/hash2/sha2.hpp>
#include <climits>

#include "tensor_path.h"

namespace atbprobe {
namespace {

constexpr size_t kKeptBytes = 200;
constexpr size_t kHashBytes = 8;

// The longest start of `text` of at most `limit` bytes that does not end within a UTF-8 character. Text that is not
// UTF-8 is cut at `limit`.
std::string_view cut_at_character(std::string_view text, size_t limit) {
    constexpr size_t kMaxContinuation = 3;
    const auto continues = [&](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xc0U) == 0x80U; };
    size_t end = limit;
    while (end > limit - kMaxContinuation && continues(end)) --end;
    return text.substr(0, continues(end) ? limit : end);
}

std::string short_hash(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    boost::hash2::sha2_256 hash;
    hash.update(text.data(), text.size());
    const auto digest = hash.result();
    std::string hex;
    for (size_t i = 0; i < kHashBytes; ++i) {
        const unsigned byte = digest[i];
        hex += kDigits[byte >> 4U];
        hex += kDigits[byte & 15U];
    }
    return hex;
}

std::string without_nul(std::string_view component) {
    std::string name;
    name.reserve(component.size());
    for (const char character : component) {
        if (character == '\0') {
            name += "%00";
        } else {
            name += character;
        }
    }
    return name;
}

}  // namespace

std::string disk_name(std::string_view component, size_t more) {
    if (component == ".") return "%2E";
    if (component == "..") return "%2E%2E";
    std::string name = without_nul(component);
    if (name.size() + more <= NAME_MAX) return name;
    return std::string(cut_at_character(name, kKeptBytes)) + "~" + short_hash(component);
}

std::string disk_path(std::string_view path) {
    std::string result;
    for (std::string_view part = next_component(&path); !part.empty(); part = next_component(&path)) {
        if (!result.empty()) result += '/';
        result += disk_name(part);
    }
    return result;
}

}  // namespace atbprobe
