// Tensors in "device" memory (which is ordinary memory here) and the one place where numbers change their
// type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace atbprobe::standin {

// The numbers are those of ACL's aclDataType.
enum class DataType : int { kFloat = 0, kFloat16 = 1, kInt32 = 3, kInt64 = 9, kBfloat16 = 27 };

// ACL's aclFormat ND, the only one a model on plain memory needs.
constexpr int kFormatNd = 2;

size_t element_bytes(DataType dtype);
const char* dtype_name(DataType dtype);     // as reports of tensors have it: "float16"
const char* kernel_suffix(DataType dtype);  // as kernels are named after it: "F16", "Bf16", "F32", "I32", "I64"

struct TensorShape {
    DataType dtype = DataType::kFloat;
    std::vector<int64_t> dims;

    size_t elements() const;
    size_t bytes() const { return elements() * element_bytes(dtype); }
    std::string dims_text() const;  // "36,128"; empty for a scalar

    bool operator==(const TensorShape& other) const { return dtype == other.dtype && dims == other.dims; }
};

// A view: whoever allocated the memory keeps it.
struct Tensor {
    TensorShape shape;
    std::byte* data = nullptr;

    int64_t rows() const { return shape.dims.size() == 2 ? shape.dims[0] : 1; }
    int64_t columns() const { return shape.dims.back(); }
};

using TensorList = std::vector<Tensor>;
using ShapeList = std::vector<TensorShape>;

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);  // rounds to nearest, ties to even
float bfloat16_to_float(uint16_t bits);
uint16_t float_to_bfloat16(float value);

// Element access by value, converting from and to the tensor's type. Integers go through integer_at.
float float_at(const Tensor& tensor, size_t index);
void set_float(Tensor& tensor, size_t index, float value);
int64_t integer_at(const Tensor& tensor, size_t index);
void set_integer(Tensor& tensor, size_t index, int64_t value);

// A whole tensor as floats.
std::vector<float> to_floats(const Tensor& tensor);
void from_floats(Tensor& tensor, const std::vector<float>& values);

}  // namespace atbprobe::standin
