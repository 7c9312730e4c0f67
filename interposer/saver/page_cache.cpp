#include "page_cache.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace atbprobe {
namespace {

// Older <linux/magic.h> lack the first, and ZFS is not part of the kernel.
constexpr unsigned kXfs = 0x58465342;
constexpr unsigned kZfs = 0x2fc12fc1;

constexpr std::array<unsigned, 8> kLocal{
    TMPFS_MAGIC, RAMFS_MAGIC, EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, kXfs, kZfs};

}  // namespace

bool writes_into_memory(int folder) {
    struct statfs status;
    if (fstatfs(folder, &status) != 0) return false;
    return std::find(kLocal.begin(), kLocal.end(), static_cast<unsigned>(status.f_type)) != kLocal.end();
}

}  // namespace atbprobe
