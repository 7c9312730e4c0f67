// The names of the models that have asked to report their topology: each is let through once per process.
#pragma once

#include <string_view>

namespace atbprobe {

// True the first time that it is called with this name, and whenever there is no memory to remember one.
bool is_new_model(std::string_view model);

}  // namespace atbprobe
