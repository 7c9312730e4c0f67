// The host's numbers for data types and formats, and their names (aclDataType and aclFormat of the Ascend runtime).
#pragma once

#include <string>
#include <string_view>

namespace atbprobe {

enum class DataType : int {
    kUndefined = -1,
    kFloat = 0,
    kFloat16 = 1,
    kInt8 = 2,
    kInt32 = 3,
    kUint8 = 4,
    kInt16 = 6,
    kUint16 = 7,
    kUint32 = 8,
    kInt64 = 9,
    kUint64 = 10,
    kDouble = 11,
    kBool = 12,
    kComplex64 = 16,
    kComplex128 = 17,
    kBfloat16 = 27,
    kInt4 = 29,
    kUint1 = 30,
    kComplex32 = 33,
    kHifloat8 = 34,
    kFloat8E5m2 = 35,
    kFloat8E4m3fn = 36,
    kFloat8E8m0 = 37,
    kFloat6E3m2 = 38,
    kFloat6E2m3 = 39,
    kFloat4E2m1 = 40,
    kFloat4E1m2 = 41,
};

// From decimal text; a number without an enumerator keeps its value, text that is no number is kUndefined.
DataType data_type(std::string_view text);

// `float`, `nd`; `undefined(N)` for any other number.
std::string data_type_name(std::string_view text);
std::string format_name(std::string_view text);

}  // namespace atbprobe
