// Where the unwinder finds its tables. The unwinder is linked in (CMakeLists.txt): libgcc_s would be mapped into each
// process of the shell, and take as long as all of the rest, for exceptions that hardly any process sees.
//
// A recent libgcc asks the C library for the tables of a function, by _dl_find_object, which glibc has since 2.35.
// Defined here, the library loads with an older one too. Our own tables are found without the loader, which may be at
// work in another thread; the others only matter to a thread of the host that is cancelled in a function of the host
// that we have called.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#ifdef DLFO_EH_SEGMENT_TYPE  // else there is no such function, and libgcc cannot have been built to call it

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);

// Made by the linker: the first bytes of this library. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((visibility("hidden"))) const Header __ehdr_start;

namespace {

struct LoadedObject {
    uintptr_t base;
    const Segment* segments;
    size_t segment_count;
};

// Where the loader has put what the file says to be at an address. NOLINTNEXTLINE(performance-no-int-to-ptr)
void* pointer_to(uintptr_t address) { return reinterpret_cast<void*>(address); }

// What dlfo_eh_dbase is for no table of x86_64 and aarch64 uses; libgcc does not read dlfo_link_map.
bool find_tables(const LoadedObject& object, uintptr_t address, dl_find_object* found) {
    uintptr_t start = UINTPTR_MAX;
    uintptr_t end = 0;
    uintptr_t tables = 0;
    bool is_inside = false;
    for (size_t i = 0; i < object.segment_count; ++i) {
        const Segment& segment = object.segments[i];
        const uintptr_t first = object.base + segment.p_vaddr;
        if (segment.p_type == DLFO_EH_SEGMENT_TYPE) tables = first;
        if (segment.p_type != PT_LOAD) continue;
        start = std::min(start, first);
        end = std::max(end, first + segment.p_memsz);
        is_inside = is_inside || address - first < segment.p_memsz;
    }
    if (!is_inside || tables == 0) return false;
    *found = dl_find_object{};
    found->dlfo_map_start = pointer_to(start);
    found->dlfo_map_end = pointer_to(end);
    found->dlfo_eh_frame = pointer_to(tables);
    return true;
}

LoadedObject this_library() {
    const auto base = reinterpret_cast<uintptr_t>(&__ehdr_start);
    return {base, static_cast<const Segment*>(pointer_to(base + __ehdr_start.e_phoff)), __ehdr_start.e_phnum};
}

struct Search {
    uintptr_t address;
    dl_find_object* found;
};

int look_into(dl_phdr_info* info, size_t /*bytes*/, void* search_of) {
    const auto* search = static_cast<const Search*>(search_of);
    return find_tables({info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum}, search->address, search->found) ? 1 : 0;
}

}  // namespace

// 0, or -1 where no object has tables for the address.
extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
    Search search{reinterpret_cast<uintptr_t>(address), result};
    if (find_tables(this_library(), search.address, result)) return 0;
    return dl_iterate_phdr(look_into, &search) != 0 ? 0 : -1;
}

#endif
