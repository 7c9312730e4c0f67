// Every version of the loops over blocks of doubles that this machine can run, against a plain loop over the same
// numbers. Prints how many versions there were and how many results were wrong.
#include "comparison/double_blocks.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "saver/element_types.h"

namespace atbprobe {
namespace {

constexpr double kEpsilon = 0x1p-23;

class Check {
  public:
    explicit Check(VectorVersion version) : version_(version) {}

    void block(size_t count, uint32_t seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        std::vector<double> golden(count);
        std::vector<double> target(count);
        for (size_t i = 0; i < count; ++i) {
            golden[i] = i % 7 == 3 ? 0 : normal(random);
            target[i] = i % 3 == 0 ? golden[i] : golden[i] + 0.003 * normal(random);
        }
        differences(golden, target);
        side(golden);
        converted<Float16Element>(golden);
        converted<PlainElement<float>>(golden);
        converted<PlainElement<int64_t>>(golden);
    }

    uint64_t wrong() const { return wrong_; }

  private:
    void expect(double found, double expected) {
        const bool is_same = found == expected || std::fabs(found - expected) <= 1e-12 * std::fabs(expected) + 1e-13;
        wrong_ += static_cast<uint64_t>(!is_same);
    }

    void differences(const std::vector<double>& golden, const std::vector<double>& target) {
        const Differences found = difference_block(version_)(golden.data(), target.data(), golden.size(), kEpsilon);
        Differences expected;
        for (size_t i = 0; i < golden.size(); ++i) {
            const double distance = std::fabs(target[i] - golden[i]);
            const double ratio = distance / (golden[i] == 0 ? kEpsilon : std::fabs(golden[i]));
            expected.product += golden[i] * target[i];
            expected.squared_distance += distance * distance;
            expected.largest_absolute = std::fmax(expected.largest_absolute, distance);
            expected.largest_relative = std::fmax(expected.largest_relative, ratio);
            expected.below_1000th += static_cast<uint64_t>(ratio < 0.001);
            expected.below_200th += static_cast<uint64_t>(ratio < 0.005);
        }
        expect(found.product, expected.product);
        expect(found.squared_distance, expected.squared_distance);
        wrong_ += static_cast<uint64_t>(found.largest_absolute != expected.largest_absolute);
        wrong_ += static_cast<uint64_t>(found.largest_relative != expected.largest_relative);
        wrong_ += static_cast<uint64_t>(found.below_1000th != expected.below_1000th);
        wrong_ += static_cast<uint64_t>(found.below_200th != expected.below_200th);
    }

    void side(std::vector<double> values) {
        SideSums expected;
        for (const double value : values) {
            expected.largest = std::fmax(expected.largest, value);
            expected.smallest = std::fmin(expected.smallest, value);
            expected.sum += value;
            expected.squares += value * value;
        }
        const SideSums found = side_block(version_)(values.data(), values.size());
        wrong_ += static_cast<uint64_t>(found.largest != expected.largest || found.smallest != expected.smallest);
        expect(found.sum, expected.sum);
        expect(found.squares, expected.squares);
        if (values.empty()) return;
        values[values.size() / 2] = std::nan("");
        wrong_ += static_cast<uint64_t>(!std::isnan(side_block(version_)(values.data(), values.size()).squares));
    }

    // Of any bytes: those of the numbers.
    template <typename Element>
    void converted(const std::vector<double>& numbers) {
        const auto* data = reinterpret_cast<const std::byte*>(numbers.data());
        const size_t count = numbers.size() * sizeof(double) / Element::kSize;
        std::vector<double> found(count);
        convert_block<Element>(version_)(data, count, found.data());
        for (size_t i = 0; i < count; ++i) {
            const auto expected = static_cast<double>(Element::load(data, i));
            const bool is_same = found[i] == expected || (std::isnan(found[i]) && std::isnan(expected));
            wrong_ += static_cast<uint64_t>(!is_same);
        }
    }

    VectorVersion version_;
    uint64_t wrong_ = 0;
};

}  // namespace
}  // namespace atbprobe

int main() {
    using namespace atbprobe;
    size_t versions = 0;
    uint64_t wrong = 0;
    for (const VectorVersion version : kVectorVersions) {
        if (version == VectorVersion::kScalar || !is_supported(version)) continue;
        ++versions;
        Check check(version);
        for (uint32_t seed = 0; seed < 20; ++seed) {
            for (size_t count = 0; count < 40; ++count) check.block(count, seed);
            for (const size_t count : {1023U, 1024U, 2047U, 2048U}) check.block(count, seed);
        }
        wrong += check.wrong();
    }
    std::printf("{\"versions\":%zu,\"wrong\":%llu}\n", versions, static_cast<unsigned long long>(wrong));
    return 0;
}
