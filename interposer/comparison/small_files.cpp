// Many pairs of small files in one call: of a dump of small tensors the opening of files is most of the work.
//
// Only what the probe writes as a rule is taken here, a whole tensor each, alike and of a plain type. Whatever is
// unlike that in any way, errors included, is left to Python, which has the words for it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "pair_loop.h"
#include "saver/read_fully.h"

namespace atbprobe {
namespace {

constexpr size_t kMostDimensions = 32;
constexpr size_t kSizeDigits = 19;
constexpr size_t kNumberDigits = 10;

struct Header {
    uint32_t dtype = 0;
    std::string_view dims;
    uint64_t elements = 1;
    uint64_t data_bytes = 0;
    size_t length = 0;
};

// As the usual form in engine/atbprobe_rules/dump/bin_header.py.
class HeaderReader {
  public:
    explicit HeaderReader(std::string_view text) : text_(text), left_(text) {}

    bool read(Header* header) {
        std::string_view digits;
        uint64_t number = 0;
        if (!skip("$Version=1.0\n$Object.Count=1\n$Object.Length=")) return false;
        if (!take_number(kSizeDigits, &digits, &header->data_bytes)) return false;
        const std::string_view length = digits;
        if (!skip("\nformat=")) return false;
        skip("-");
        if (!take_number(kNumberDigits, &digits, &number)) return false;
        if (!skip("\ndtype=") || !take_number(kNumberDigits, &digits, &number) || number > UINT32_MAX) return false;
        header->dtype = static_cast<uint32_t>(number);
        if (!skip("\ndims=") || !take_dims(header)) return false;
        if (!skip("\n$Object.data=0,") || !skip(length) || !skip("\n$End=1\n")) return false;
        header->length = text_.size() - left_.size();
        return true;
    }

  private:
    bool skip(std::string_view expected) {
        const bool is_there =
            left_.size() >= expected.size() && std::memcmp(left_.data(), expected.data(), expected.size()) == 0;
        if (is_there) left_.remove_prefix(expected.size());
        return is_there;
    }

    bool take_number(size_t most_digits, std::string_view* digits, uint64_t* value) {
        *digits = left_;
        *value = 0;
        size_t count = 0;
        for (; !left_.empty() && left_.front() >= '0' && left_.front() <= '9'; ++count) {
            if (count == most_digits) return false;
            *value = *value * 10 + static_cast<uint64_t>(left_.front() - '0');
            left_.remove_prefix(1);
        }
        digits->remove_suffix(left_.size());
        return count > 0;
    }

    bool take_dims(Header* header) {
        if (!left_.empty() && left_.front() == '\n') return true;  // a scalar
        header->dims = left_;
        size_t dimensions = 0;
        do {
            std::string_view digits;
            uint64_t size = 0;
            if (++dimensions > kMostDimensions || !take_number(kSizeDigits, &digits, &size)) return false;
            if (__builtin_mul_overflow(header->elements, size, &header->elements)) return false;
        } while (skip(","));
        header->dims.remove_suffix(left_.size());
        return true;
    }

    std::string_view text_;
    std::string_view left_;
};

// All of a regular file; false if it does not fit, or is none that can be read at once.
bool read_whole(const char* path, char* room, size_t room_bytes, std::string_view* content) {
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    if (descriptor < 0) return false;
    struct stat status;
    bool is_whole = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 0 &&
                    static_cast<uint64_t>(status.st_size) <= room_bytes;
    if (is_whole) {
        const auto size = static_cast<size_t>(status.st_size);
        size_t done = 0;
        is_whole = read_fully(descriptor, room, size, 0, &done) == 0 && done == size;
        *content = {room, size};
    }
    close(descriptor);
    return is_whole;
}

// Of a type whose elements are of whole bytes.
bool is_whole_tensor(const Header& header, size_t element_bytes, size_t file_bytes) {
    uint64_t least = 0;
    return header.length + header.data_bytes == file_bytes && header.data_bytes % element_bytes == 0 &&
           !__builtin_mul_overflow(header.elements, element_bytes, &least) && header.data_bytes >= least;
}

constexpr uint32_t kNoType = UINT32_MAX;

// What the headers of both files say, with the text of `dims`; of kNoType if the pair was not taken.
struct SmallPair {
    uint32_t dtype;
    uint32_t dims_length;
    char dims[kMostDimensions * (kSizeDigits + 1)];
};

static_assert(sizeof(SmallPair) == 648);

struct Forms {
    const ElementForm* by_type;
    uint32_t count;
};

// Whether the pair was taken; if not, nothing has been added.
bool add_small_pair(const Forms& forms, const char* golden, const char* target, char* room, size_t room_bytes,
                    PairSums* sums, SmallPair* pair) {
    const size_t half = room_bytes / 2;
    std::string_view one;
    std::string_view other;
    if (!read_whole(golden, room, half, &one) || !read_whole(target, room + half, half, &other)) return false;
    Header header;
    Header other_header;
    if (!HeaderReader(one).read(&header) || !HeaderReader(other).read(&other_header)) return false;
    if (header.dtype != other_header.dtype || header.dims != other_header.dims || header.dtype >= forms.count ||
        header.data_bytes != other_header.data_bytes) {
        return false;
    }
    const ElementForm& form = forms.by_type[header.dtype];
    const size_t size = element_bits(form) / 8;
    if (size == 0 || !is_whole_tensor(header, size, one.size()) || !is_whole_tensor(other_header, size, other.size())) {
        return false;
    }
    pair->dtype = header.dtype;
    pair->dims_length = static_cast<uint32_t>(header.dims.size());
    if (!header.dims.empty()) std::memcpy(pair->dims, header.dims.data(), header.dims.size());
    add_pair(form, reinterpret_cast<const std::byte*>(one.data() + header.length),
             reinterpret_cast<const std::byte*>(other.data() + other_header.length), header.data_bytes / size, sums);
    return true;
}

}  // namespace
}  // namespace atbprobe

// Compares `count` pairs, whose paths are golden's and target's in turn: files that fit half of `room` each. `forms`
// are by the number of the dtype; one without bits stands where a number has no plain type.
extern "C" __attribute__((visibility("default"))) void atbprobe_add_small_files(
    const atbprobe::ElementForm* forms, uint32_t form_count, const char* const* paths, uint64_t count, void* room,
    uint64_t room_bytes, atbprobe::PairSums* sums, atbprobe::SmallPair* pairs) {
    using namespace atbprobe;
    for (uint64_t i = 0; i < count; ++i) {
        sums[i] = PairSums{};
        const bool is_taken = add_small_pair({forms, form_count}, paths[2 * i], paths[2 * i + 1],
                                             static_cast<char*>(room), room_bytes, &sums[i], &pairs[i]);
        if (!is_taken) pairs[i].dtype = kNoType;
    }
}
