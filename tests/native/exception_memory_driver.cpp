// Throws exceptions while malloc has nothing left to give: interposer/exception_memory.cpp must still find them a
// place, and give it back.
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

}  // namespace

int main() {
    const bool with_memory = kept_and_thrown_again<100>() == 100;
    use_up_all_memory();
    bool without_memory = true;
    for (int i = 0; i < 1000; ++i) {
        without_memory = without_memory && is_caught(kAddressSpace) && kept_and_thrown_again<20>() == 20;
    }
    std::puts(with_memory && without_memory ? "all caught" : "something was not caught");
    return 0;
}
