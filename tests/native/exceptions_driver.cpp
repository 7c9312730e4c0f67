// Throws exceptions with the runtime as the libraries have it, that is with interposer/exception_memory.cpp,
// unwind_tables.cpp and uncaught_exception.cpp in place of its own.
//
//     exceptions_driver             when malloc has nothing left to give: they must find a place, and give it back
//     exceptions_driver uncaught    one that nobody catches
//     exceptions_driver terminate   none
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>

namespace {

constexpr size_t kAddressSpace = size_t{64} << 20;

// The stack grows into the same address space, so it has to have grown before.
void grow_stack() {
    char touched[size_t{1} << 20];
    memset(touched, 1, sizeof(touched));
    asm volatile("" : : "r"(touched) : "memory");
}

void use_up_all_memory() {
    grow_stack();
    const rlimit limit{kAddressSpace, kAddressSpace};
    setrlimit(RLIMIT_AS, &limit);
    for (size_t bytes = kAddressSpace; bytes >= 8; bytes /= 2) {
        while (malloc(bytes) != nullptr) {  // NOLINT(clang-analyzer-unix.Malloc): that is the point
        }
    }
}

bool is_caught(size_t bytes) {
    try {
        ::operator delete(::operator new(bytes));
    } catch (const std::bad_alloc&) {
        return true;
    }
    return false;
}

// Several in flight at a time, each thrown twice.
template <size_t kCount>
size_t kept_and_thrown_again() {
    std::array<std::exception_ptr, kCount> kept;
    for (std::exception_ptr& one : kept) {
        try {
            throw std::bad_alloc();
        } catch (...) {
            one = std::current_exception();
        }
    }
    size_t caught = 0;
    for (const std::exception_ptr& one : kept) {
        try {
            std::rethrow_exception(one);
        } catch (const std::bad_alloc&) {
            ++caught;
        }
    }
    return caught;
}

[[noreturn]] void end_as_told(const char* how) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (strcmp(how, "terminate") == 0) std::terminate();
    throw std::length_error("too long");
}

}  // namespace

int main(int count, char** arguments) {  // NOLINT(bugprone-exception-escape): that is the point
    if (count > 1) end_as_told(arguments[1]);
    const bool with_memory = kept_and_thrown_again<100>() == 100;
    use_up_all_memory();
    bool without_memory = true;
    for (int i = 0; i < 1000; ++i) {
        without_memory = without_memory && is_caught(kAddressSpace) && kept_and_thrown_again<20>() == 20;
    }
    std::puts(with_memory && without_memory ? "all caught" : "something was not caught");
    return 0;
}
