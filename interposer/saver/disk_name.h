// What a component of the host's path is called on disk. Nearly always the same; but a name of an operation can be
// anything, and a component on disk can be neither `.` nor `..`, holds no NUL and has at most 255 bytes.
#pragma once

#include <string>
#include <string_view>

namespace atbprobe {

// `.` becomes `%2E`, `..` `%2E%2E`, NUL `%00`; of a name that is then too long the first 200 bytes stay, cut at a
// UTF-8 character, followed by `~` and 16 hex digits of the SHA-256 of the component as the host gave it.
// Too long is what leaves no room for `more` bytes behind it.
std::string disk_name(std::string_view component, size_t more = 0);

// disk_name of every component; empty components are left out.
std::string disk_path(std::string_view path);

}  // namespace atbprobe
