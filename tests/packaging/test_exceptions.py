"""The C++ runtime that is linked into the libraries, where parts of it were replaced by ours."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

# A program in C, which has no C++ runtime of its own: it asks for the channel of a config whose path takes as much
# memory as there is. Without rules about its output, it says which libraries it has in the end.
OUT_OF_MEMORY = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { path_bytes = 64 << 20 };

int main(void) {
    long (*channel_path)(const char*, const char*, char*, size_t) = dlsym(RTLD_DEFAULT, "atbprobe_channel_path");
    char* path = malloc(path_bytes);
    char text[64];
    char line[4096];
    struct rlimit all_taken = {1 << 20, RLIM_INFINITY}, unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    memset(path, 'x', path_bytes);
    path[path_bytes - 1] = 0;
    for (int i = 0; i < 3; ++i) {
        setrlimit(RLIMIT_AS, &all_taken);
        long answer = channel_path(path, "/config.json", text, sizeof text);
        setrlimit(RLIMIT_AS, &unlimited);
        printf("%ld\n", answer);
    }
    FILE* maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "libgcc_s") != NULL || strstr(line, "libstdc++") != NULL) fputs(line, stdout);
    return 0;
}
"""


def run(command: list[str | Path], **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)


def test_they_need_no_memory_set_aside(native_file: Callable[[str], Path]) -> None:
    """The runtime's reserve for them was replaced by ours: it must be as good."""
    done = run([native_file("exceptions_driver")])
    assert (done.returncode, done.stdout, done.stderr) == (0, "all caught\n", "")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("uncaught", "nobody catches an exception of the type St12length_error"),
        ("terminate", "std::terminate was called"),
    ],
)
def test_one_that_nobody_catches_is_named(native_file: Callable[[str], Path], how: str, message: str) -> None:
    done = run([native_file("exceptions_driver"), how])
    assert done.returncode == -signal.SIGABRT
    assert done.stderr == f"[atbprobe] FATAL: the process is ended: {message}\n"


@pytest.mark.needs_gcc
@pytest.mark.parametrize("abi", [1, 0], ids=["abi1", "abi0"])
def test_they_are_caught_in_a_program_without_a_runtime(
    abi: int, native_file: Callable[[str], Path], tmp_path: Path
) -> None:
    """Nor is one looked for: it might not be there, and there might be no memory for it."""
    library = native_file(f"libatb_probe_abi{abi}.so")
    if b"libstdc++.so" in library.read_bytes():
        pytest.skip("sanitizers run with the shared runtime")
    source, program = tmp_path / "out_of_memory.c", tmp_path / "out_of_memory"
    source.write_text("#define _GNU_SOURCE\n" + OUT_OF_MEMORY)
    subprocess.run(["gcc", source, "-o", program], check=True)
    done = run([program], LD_PRELOAD=str(library))
    assert (done.returncode, done.stdout, done.stderr) == (0, "-12\n" * 3, "")
