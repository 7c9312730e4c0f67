// The calls that a host makes for one tensor of one operation, for programs that make them from many threads.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "probe.h"

// `<device>_<pid>/<round>/<operation>`, as this process has it now.
inline std::string operation_dir(uint64_t round, const std::string& operation) {
    return "0_" + std::to_string(getpid()) + "/" + std::to_string(round) + "/" + operation;
}

// The first input of `<number>_Layer`: floats that all are the operation's number. False if it is not asked for.
inline bool save_input(uint64_t round, uint32_t number, size_t elements) {
    const std::vector<float> data(elements, static_cast<float>(number));
    const std::string dir = operation_dir(round, std::to_string(number) + "_Layer");
    if (!atb::Probe::IsExecuteCountInRange(round) || !atb::Probe::IsSaveTensorInSpecificDir(dir) ||
        !atb::Probe::IsSaveTensorBefore()) {
        return false;
    }
    atb::Probe::SaveTensor("2", "0", std::to_string(elements), data.data(), elements * sizeof(float),
                           dir + "/before/intensor0.bin");
    return true;
}
