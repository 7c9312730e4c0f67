"""Which file system a file is on, and whether this machine's kernel hears of every change there.

``statfs`` would tell less (all of FUSE is one number there, sshfs and a local NTFS alike), and Python does not have its
type. The kernel says of an open file which mount it was opened through, which holds whatever links, bind mounts and
mounts on top of each other its path leads through; the longest matching mount point would be a guess.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

# Those on which somebody else may write behind the kernel's back: another machine, a host outside of a virtual one, or
# a program of which nobody knows what it does (FUSE).
_REMOTE = re.compile(
    r"""nfs4? | cifs | smb[23]? | smbfs | ncpfs | afs | coda | 9p | virtiofs | vboxsf | prl_fs | vmhgfs
      | lustre(_lite)? | gpfs | mmfs | ceph | ocfs2 | gfs2? | glusterfs | beegfs(_nodev)? | pvfs2 | orangefs
      | panfs | wekafs | dpc | fuse(blk)?(\..*)?""",
    re.VERBOSE,
)


def is_remote(file_system: str) -> bool:
    """Tell whether a file system, by its name in mountinfo, can change without an event here."""
    return _REMOTE.fullmatch(file_system) is not None


def file_system_of(path: Path) -> str | None:
    """Return the name of the file system behind `path`, links followed; None if the kernel does not say.

    Raises OSError if there is nothing at `path`.
    """
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        information = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:  # no /proc
        return None
    finally:
        os.close(descriptor)
    mount = re.search(r"^mnt_id:\s*(\d+)$", information, re.MULTILINE)
    return None if mount is None else _type_of_mount(mount[1], mounts)


def _type_of_mount(mount_id: str, mounts: str) -> str | None:
    for line in mounts.splitlines():
        # The type stands after a dash that ends a list of optional fields; blanks in paths are escaped.
        before, _, after = line.partition(" - ")
        if before.split(" ", 1)[0] == mount_id:
            return after.split(" ", 1)[0]
    return None
