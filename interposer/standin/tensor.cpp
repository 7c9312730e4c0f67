#include "tensor.h"

#include <cstring>

namespace atbprobe::standin {

namespace {

template <typename T>
T load(const Tensor& tensor, size_t index) {
    T value;
    std::memcpy(&value, tensor.data + index * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
void store(Tensor& tensor, size_t index, T value) {
    std::memcpy(tensor.data + index * sizeof(T), &value, sizeof(T));
}

uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

}  // namespace

size_t element_bytes(DataType dtype) {
    switch (dtype) {
        case DataType::kFloat16:
        case DataType::kBfloat16:
            return 2;
        case DataType::kFloat:
        case DataType::kInt32:
            return 4;
        case DataType::kInt64:
            return 8;
    }
    return 0;
}

const char* dtype_name(DataType dtype) {
    switch (dtype) {
        case DataType::kFloat16:
            return "float16";
        case DataType::kBfloat16:
            return "bf16";
        case DataType::kFloat:
            return "float";
        case DataType::kInt32:
            return "int32";
        case DataType::kInt64:
            return "int64";
    }
    return "";
}

const char* kernel_suffix(DataType dtype) {
    switch (dtype) {
        case DataType::kFloat16:
            return "F16";
        case DataType::kBfloat16:
            return "Bf16";
        case DataType::kFloat:
            return "F32";
        case DataType::kInt32:
            return "I32";
        case DataType::kInt64:
            return "I64";
    }
    return "";
}

size_t TensorShape::elements() const {
    size_t count = 1;
    for (const int64_t dim : dims) {
        count *= static_cast<size_t>(dim);
    }
    return count;
}

std::string TensorShape::dims_text() const {
    std::string text;
    for (const int64_t dim : dims) {
        text += (text.empty() ? "" : ",") + std::to_string(dim);
    }
    return text;
}

float half_to_float(uint16_t half) {
    const uint32_t bits = half;
    const uint32_t sign = (bits & 0x8000U) << 16U;
    const uint32_t exponent = (bits >> 10U) & 0x1FU;
    const uint32_t fraction = bits & 0x3FFU;
    if (exponent == 0x1F) {
        return float_of(sign | 0x7F800000U | fraction << 13U);
    }
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    return float_of(sign | (exponent + 112) << 23U | fraction << 13U);
}

uint16_t float_to_half(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t sign = (bits >> 16U) & 0x8000U;
    const uint32_t magnitude = bits & 0x7FFFFFFFU;
    uint32_t result;
    if (magnitude > 0x7F800000U) {
        result = 0x7E00U;
    } else if (magnitude >= 0x477FF000U) {  // rounds to 2^16 or more
        result = 0x7C00U;
    } else if (magnitude < 0x38800000U) {
        // Subnormal: adding one half makes the float unit round at the half type's last place, 2^-24.
        result = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);
    } else {
        const uint32_t odd = (magnitude >> 13U) & 1U;
        result = (magnitude - (112U << 23U) + 0xFFFU + odd) >> 13U;
    }
    return static_cast<uint16_t>(sign | result);
}

float bfloat16_to_float(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16U); }

uint16_t float_to_bfloat16(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
        return static_cast<uint16_t>(bits >> 16U | 0x40U);
    }
    return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

float float_at(const Tensor& tensor, size_t index) {
    switch (tensor.shape.dtype) {
        case DataType::kFloat16:
            return half_to_float(load<uint16_t>(tensor, index));
        case DataType::kBfloat16:
            return bfloat16_to_float(load<uint16_t>(tensor, index));
        case DataType::kFloat:
            return load<float>(tensor, index);
        case DataType::kInt32:
        case DataType::kInt64:
            break;
    }
    return static_cast<float>(integer_at(tensor, index));
}

void set_float(Tensor& tensor, size_t index, float value) {
    switch (tensor.shape.dtype) {
        case DataType::kFloat16:
            store(tensor, index, float_to_half(value));
            break;
        case DataType::kBfloat16:
            store(tensor, index, float_to_bfloat16(value));
            break;
        case DataType::kFloat:
            store(tensor, index, value);
            break;
        case DataType::kInt32:
        case DataType::kInt64:
            set_integer(tensor, index, static_cast<int64_t>(value));
            break;
    }
}

int64_t integer_at(const Tensor& tensor, size_t index) {
    return tensor.shape.dtype == DataType::kInt64 ? load<int64_t>(tensor, index) : load<int32_t>(tensor, index);
}

void set_integer(Tensor& tensor, size_t index, int64_t value) {
    if (tensor.shape.dtype == DataType::kInt64) {
        store(tensor, index, value);
    } else {
        store(tensor, index, static_cast<int32_t>(value));
    }
}

std::vector<float> to_floats(const Tensor& tensor) {
    std::vector<float> values(tensor.shape.elements());
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = float_at(tensor, i);
    }
    return values;
}

void from_floats(Tensor& tensor, const std::vector<float>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
        set_float(tensor, i, values[i]);
    }
}

}  // namespace atbprobe::standin
