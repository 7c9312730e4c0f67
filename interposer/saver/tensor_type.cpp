#include "tensor_type.h"

#include <charconv>
#include <optional>

namespace atbprobe {
namespace {

struct NamedNumber {
    int number;
    const char* name;
};

constexpr NamedNumber kDataTypes[] = {
    {-1, "undefined"},   {0, "float"},        {1, "float16"},        {2, "int8"},         {3, "int32"},
    {4, "uint8"},        {6, "int16"},        {7, "uint16"},         {8, "uint32"},       {9, "int64"},
    {10, "uint64"},      {11, "double"},      {12, "bool"},          {13, "string"},      {16, "complex64"},
    {17, "complex128"},  {27, "bf16"},        {29, "int4"},          {30, "uint1"},       {33, "complex32"},
    {34, "hifloat8"},    {35, "float8_e5m2"}, {36, "float8_e4m3fn"}, {37, "float8_e8m0"}, {38, "float6_e3m2"},
    {39, "float6_e2m3"}, {40, "float4_e2m1"}, {41, "float4_e1m2"},
};

constexpr NamedNumber kFormats[] = {
    {0, "nchw"},
    {1, "nhwc"},
    {2, "nd"},
    {3, "nc1hwc0"},
    {4, "fractal_z"},
    {12, "nc1hwc0_c04"},
    {16, "hwcn"},
    {27, "ndhwc"},
    {29, "fractal_nz"},
    {30, "ncdhw"},
    {32, "ndc1hwc0"},
    {33, "fractal_z_3d"},
    {35, "nc"},
    {47, "ncl"},
    {50, "fractal_nz_c0_16"},
    {51, "fractal_nz_c0_32"},
};

std::optional<int> number_in(std::string_view text) {
    int number = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

template <size_t kCount>
std::string name_in(const NamedNumber (&table)[kCount], std::string_view text) {
    const std::optional<int> number = number_in(text);
    if (number.has_value()) {
        for (const NamedNumber& entry : table) {
            if (entry.number == *number) return entry.name;
        }
    }
    return "undefined(" + std::string(text) + ")";
}

}  // namespace

DataType data_type(std::string_view text) {
    return static_cast<DataType>(number_in(text).value_or(static_cast<int>(DataType::kUndefined)));
}

std::string data_type_name(std::string_view text) { return name_in(kDataTypes, text); }

std::string format_name(std::string_view text) { return name_in(kFormats, text); }

}  // namespace atbprobe
