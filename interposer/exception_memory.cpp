// The memory of exceptions in flight, in place of the C++ runtime's own: that one reserves 72 KiB with malloc while
// the library is being loaded, in every process of the shell, for exceptions thrown when memory has run out. Here a
// few static slots do the same, and cost nothing until they are written to.
//
// An exception object lies behind a header of the runtime's. Its size is the runtime's secret; a larger one does no
// harm, since the header is only ever reached backwards from the object.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace {

constexpr size_t kHeaderBytes = 256;
constexpr size_t kSlotBytes = 512;
constexpr uint32_t kSlotCount = 32;

alignas(std::max_align_t) unsigned char g_slots[kSlotCount][kSlotBytes];
std::atomic<uint32_t> g_taken_slots{0};

unsigned char* take_slot(size_t bytes) {
    if (bytes > kSlotBytes) return nullptr;
    uint32_t taken = g_taken_slots.load(std::memory_order_relaxed);
    while (taken != UINT32_MAX) {
        const auto free_slot = static_cast<uint32_t>(__builtin_ctz(~taken));
        if (g_taken_slots.compare_exchange_weak(taken, taken | uint32_t{1} << free_slot, std::memory_order_acquire))
            return g_slots[free_slot];
    }
    return nullptr;
}

// The header, zeroed, and the object behind it.
unsigned char* allocate(size_t object_bytes) {
    const size_t bytes = kHeaderBytes + object_bytes;
    auto* memory = static_cast<unsigned char*>(malloc(bytes));
    if (memory == nullptr) memory = take_slot(bytes);
    if (memory == nullptr) std::terminate();
    memset(memory, 0, kHeaderBytes);
    return memory;
}

void release(unsigned char* memory) {
    const auto offset = reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(&g_slots[0][0]);
    if (offset >= sizeof(g_slots)) {
        free(memory);
    } else {
        g_taken_slots.fetch_and(~(uint32_t{1} << offset / kSlotBytes), std::memory_order_release);
    }
}

}  // namespace

// The names and their meaning are those of the Itanium C++ ABI, section 2.4.2. A dependent exception, which
// std::rethrow_exception makes, is a header alone.
extern "C" {
void* __cxa_allocate_exception(size_t bytes) noexcept { return allocate(bytes) + kHeaderBytes; }
void __cxa_free_exception(void* object) noexcept { release(static_cast<unsigned char*>(object) - kHeaderBytes); }
void* __cxa_allocate_dependent_exception() noexcept { return allocate(0); }
void __cxa_free_dependent_exception(void* header) noexcept { release(static_cast<unsigned char*>(header)); }
}
