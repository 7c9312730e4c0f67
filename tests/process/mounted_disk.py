"""Small file systems to run out of."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A tmpfs of ``size`` at ``folder``; the test is skipped where none can be mounted."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here (not root)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
