"""Loaded into every process of a shell: what programs that are no host notice of it. That is, nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from probed_host import Probed

REPOSITORY = Path(__file__).parent.parent.parent
NOBODY = 65534


@pytest.fixture(params=[1, 0], ids=["abi1", "abi0"])
def shell(request: pytest.FixtureRequest, tmp_path: Path, native_file: Callable[[str], Path]) -> Probed:
    """The environment of a shell that sourced the load script, with rules that dump everything."""
    place = Probed(tmp_path / "place", native_file, abi=request.param)
    place.folder.mkdir()
    place.write({"dump_enable": True, "exec_range": "all", "save_child": True})
    return place


def run(
    command: Sequence[str | Path], environment: Mapping[str, str], user: int | None = None
) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr."""
    done = subprocess.run(
        [str(part) for part in command], env=environment, capture_output=True, check=False, user=user, cwd="/"
    )
    return done.returncode, done.stdout, done.stderr


def without_preload(place: Probed) -> dict[str, str]:
    environment = place.environment()
    del environment["LD_PRELOAD"]
    return environment


def traces(place: Probed, runtime_dir: Path) -> list[Path]:
    return [path for folder in (place.folder, runtime_dir) for path in folder.rglob("*") if path != place.config]


PRINT_JSON = "import json, sys, threading; json.dump({'é': [1, None], 'threads': threading.active_count()}, sys.stdout)"


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-c", PRINT_JSON],
        ["ls", "-la", "/usr/bin"],
        ["ls", "/no/such/folder"],
        ["git", "-C", REPOSITORY, "log", "--stat", "-3"],
        ["git", "no-such-command"],
        ["sh", "-c", "echo $0 | tr a-z A-Z; exit 3"],
    ],
    ids=["python", "ls", "ls fails", "git", "git fails", "pipe"],
)
def test_output_is_the_same_to_the_byte(shell: Probed, runtime_dir: Path, command: list[str | Path]) -> None:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not on PATH")
    alone = run(command, without_preload(shell))
    assert alone[1] or alone[2]
    assert run(command, shell.environment()) == alone
    assert traces(shell, runtime_dir) == []
    if command[-1] == PRINT_JSON:
        assert json.loads(alone[1]) == {"é": [1, None], "threads": 1}


@pytest.mark.needs_gcc
def test_a_static_program_is_not_touched(shell: Probed, runtime_dir: Path) -> None:
    source = shell.folder.parent / "hello.c"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
    program = source.with_suffix("")
    built = subprocess.run(["gcc", "-static", "-o", program, source], capture_output=True, text=True, check=False)
    if built.returncode != 0:
        pytest.skip("no static C library to link with")
    assert run([program], shell.environment()) == (0, b"hello\n", b"")
    assert traces(shell, runtime_dir) == []


def test_a_setuid_program_runs_as_ever(shell: Probed) -> None:
    program = shutil.which("passwd")
    if program is None or not Path(program).stat().st_mode & stat.S_ISUID:
        pytest.skip("no setuid program at hand")
    user = NOBODY if os.getuid() == 0 else None
    alone = run([program, "--status"], without_preload(shell), user)
    assert alone[0] == 0
    assert run([program, "--status"], shell.environment(), user) == alone


@pytest.mark.parametrize("ending", ["sys.exit(7)", "os._exit(7)", "os.execv('/bin/sh', ['sh', '-c', 'exit 7'])"])
def test_a_program_that_closes_all_descriptors_ends_as_ever(shell: Probed, ending: str) -> None:
    program = [sys.executable, "-c", f"import os, sys; os.closerange(0, 1024); {ending}"]
    assert run(program, shell.environment()) == run(program, without_preload(shell)) == (7, b"", b"")


def test_a_host_that_closes_all_descriptors_still_hears_of_new_rules(shell: Probed) -> None:
    """And keeps those that it opened itself, under the numbers that were ours before."""
    shell.publish({"dump_enable": True, "exec_range": "none"})
    with shell.caller() as host:
        assert not host.call("IsExecuteCountInRange", 0)
        host.call("CloseDescriptors")
        opened = {path.name for path in Path(f"/proc/{host.pid}/fd").iterdir()}
        assert len(opened) == 256
        shell.publish({"dump_enable": True, "exec_range": "0,0"})
        assert host.call("IsExecuteCountInRange", 0)
        assert {path.name for path in Path(f"/proc/{host.pid}/fd").iterdir()} == opened


@pytest.mark.needs_strace
def test_loading_is_mapping_and_nothing_else(shell: Probed, tmp_path: Path, runtime_dir: Path) -> None:
    """No thread, no memory, no file: the system calls of a process without it, and those that map the library."""

    def system_calls(*setting: str) -> SystemCalls:
        log = tmp_path / "strace"
        command = ["strace", "-f", "-o", log, *setting, "/bin/true"]
        done = subprocess.run(command, env=without_preload(shell), capture_output=True, check=False)
        if b"ptrace" in done.stderr.lower():
            pytest.skip("strace may not trace here")
        assert done.returncode == 0, done.stderr
        return SystemCalls.of(log.read_text().splitlines())

    library = shell.environment()["LD_PRELOAD"]
    baseline = system_calls()
    loaded = system_calls("-E", f"LD_PRELOAD={library}")
    assert loaded.opened - baseline.opened == {library}
    assert loaded.others == baseline.others
    assert "execve" in loaded.others
    assert not {"clone", "clone3", "fork", "vfork"} & set(loaded.others)
    assert loaded.memory == baseline.memory
    assert "brk" in loaded.memory
    assert traces(shell, runtime_dir) == []


HEAP_USE = """
#include <malloc.h>
#include <stdio.h>
int main(void) {
    struct mallinfo2 heap = mallinfo2();
    printf("%zu %zu %zu\\n", heap.arena, heap.uordblks, heap.hblkhd);
    return 0;
}
"""


@pytest.mark.needs_gcc
def test_loading_takes_nothing_from_the_heap(shell: Probed) -> None:
    """As under an empty library, the heap is not even begun."""
    folder = shell.folder.parent
    program, empty = folder / "heap_use", folder / "libempty.so"
    for source, text, options in (
        (folder / "heap_use.c", HEAP_USE, ["-o", program]),
        (folder / "empty.c", "int nothing;\n", ["-shared", "-fPIC", "-o", empty]),
    ):
        source.write_text(text)
        subprocess.run(["gcc", source, *options], check=True)
    environment = shell.environment()
    assert (
        run([program], environment) == run([program], {**environment, "LD_PRELOAD": str(empty)}) == (0, b"0 0 0\n", b"")
    )


# What the loader does for each library that it maps.
MAPPING = {"openat", "open", "read", "pread64", "fstat", "newfstatat", "mmap", "mprotect", "munmap", "close", "access"}


@dataclass
class SystemCalls:
    """`opened` are the files that were opened with success, `others` the names of all calls but those that map files,
    `memory` those that take memory. What the loader maps at a fixed place is a library's own, which lies within what
    was mapped of its file."""

    opened: set[str] = field(default_factory=set)
    others: list[str] = field(default_factory=list)
    memory: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, lines: Iterable[str]) -> SystemCalls:
        calls = cls()
        for line in lines:
            match = re.match(r"\d+\s+(\w+)\(", line)
            if match is None:
                continue  # a signal, or the exit
            if match[1] not in MAPPING:
                calls.others.append(match[1])
            if match[1] in ("brk", "mremap") or ("MAP_ANONYMOUS" in line and "MAP_FIXED" not in line):
                calls.memory.append(match[1])
            opened = re.search(r'open(?:at)?\(.*"(.*)".*\) = \d+', line)
            if opened:
                calls.opened.add(opened[1])
        return calls
