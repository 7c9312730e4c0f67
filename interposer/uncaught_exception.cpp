// What the C++ runtime says of an exception that nobody catches, in place of its own words. They name the exception in
// the program's terms, and with the code for that come 350 pointers which the loader would have to set in each process
// of the shell.
#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>

#include "log.h"

namespace __gnu_cxx {

// libstdc++ calls it by this name. NOLINTNEXTLINE(readability-identifier-naming)
[[noreturn]] void __verbose_terminate_handler() {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    atbprobe::log_message(atbprobe::LogLevel::kFatal, "the process is ended: %s%s",
                          type == nullptr ? "std::terminate was called" : "nobody catches an exception of the type ",
                          type == nullptr ? "" : type->name());
    std::abort();
}

}  // namespace __gnu_cxx
