#include "expectation.h"

#include <filesystem>
#include <stdexcept>

namespace atbprobe::standin {

namespace {

std::FILE* open_for_writing(const std::filesystem::path& path) {
    std::filesystem::create_directories(path.parent_path());
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) {
        throw std::runtime_error("cannot write " + path.string());
    }
    return file;
}

std::string json_string(const std::string& text) {
    std::string json = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            json += '\\';
        }
        json += c;
    }
    return json + "\"";
}

}  // namespace

Expectation::Expectation(const std::string& root)
    : root_(root), index_(open_for_writing(std::filesystem::path(root) / "tensors.jsonl")) {}

Expectation::~Expectation() { std::fclose(index_); }

void Expectation::put_tensor(uint64_t round, const Tensor& tensor, const std::string& path) {
    write(path, tensor.data, tensor.shape.bytes());
    const std::string line = "{\"round\":" + std::to_string(round) + ",\"path\":" + json_string(path) +
                             ",\"dtype\":" + std::to_string(static_cast<int>(tensor.shape.dtype)) +
                             ",\"format\":" + std::to_string(kFormatNd) + ",\"dims\":\"" + tensor.shape.dims_text() +
                             "\"}\n";
    const std::lock_guard<std::mutex> lock(mutex_);
    std::fputs(line.c_str(), index_);
    std::fflush(index_);
}

void Expectation::put_param(const std::string& json, const std::string& path) { write(path, json.data(), json.size()); }

void Expectation::write(const std::string& path, const void* data, size_t bytes) {
    std::FILE* file = open_for_writing(std::filesystem::path(root_) / (path + ".raw"));
    const bool written = std::fwrite(data, 1, bytes, file) == bytes;
    if (std::fclose(file) != 0 || !written) {
        throw std::runtime_error("cannot write " + path);
    }
}

}  // namespace atbprobe::standin
