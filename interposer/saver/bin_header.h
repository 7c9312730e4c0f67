// The text in front of the data in a .bin: lines `name=value`, ended by `$End=1`.
#pragma once

#include <string>

#include "saver.h"

namespace atbprobe {

std::string bin_header(const TensorCall& call);

}  // namespace atbprobe
