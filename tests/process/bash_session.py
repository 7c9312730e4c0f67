"""A copy of the installed scripts in a small installation of its own, and bash processes that source them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# What any bash needs; everything else a test sets itself.
PLAIN_ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent/home", "LANG": "C.UTF-8"}
ASCEND_ENVIRONMENT = {"ASCEND_HOME_PATH": "/opt/ascend", "ATB_HOME_PATH": "/opt/atb/cxx_abi_1"}
PROBE_VARIABLES = ("LD_PRELOAD", "ATB_OUTPUT_DIR", "ATB_DUMP_CONFIG")

# Stands for the interpreter: records each call as a line of JSON, and has the package at every version.
STUB_PYTHON = """#!{python} -IS
import json, os, sys
environment = {{name: os.environ.get(name) for name in ("LD_PRELOAD", "PWD")}}
with open({calls!r}, "a") as calls:
    print(json.dumps({{"arguments": sys.argv[1:], "directory": os.getcwd(), **environment}}), file=calls)
"""


@dataclass
class Answer:
    """What a bash process said, and its environment at the end (empty if it ended early)."""

    status: int
    stdout: str
    stderr: str
    environment: dict[str, str]

    @property
    def probe_variables(self) -> dict[str, str]:
        return {name: self.environment[name] for name in PROBE_VARIABLES if name in self.environment}


@dataclass
class Installation:
    """A prefix with the package's scripts and libraries, and a stub in place of its interpreter."""

    prefix: Path
    package: Path = field(init=False)

    def __post_init__(self) -> None:
        self.package = self.prefix / "lib/python3.11/site-packages/atbprobe_rules"

    @classmethod
    def create(cls, prefix: Path, scripts: Path, libraries: list[Path], python: str) -> Installation:
        made = cls(prefix)
        shutil.copytree(scripts, made.scripts)
        (made.package / "lib").mkdir()
        for library in libraries:
            shutil.copy(library, made.package / "lib")
        made.python.parent.mkdir()
        made.write_stub(made.python, python)
        return made

    @property
    def scripts(self) -> Path:
        return self.package / "scripts/atb"

    @property
    def load(self) -> Path:
        return self.scripts / "load_atb_probe.sh"

    @property
    def unload(self) -> Path:
        return self.scripts / "unload_atb_probe.sh"

    @property
    def python(self) -> Path:
        return self.prefix / "bin/python3.11"

    def library(self, abi: int) -> Path:
        return self.package / f"lib/libatb_probe_abi{abi}.so"

    def write_stub(self, path: Path, python: str) -> None:
        path.write_text(STUB_PYTHON.format(python=python, calls=str(self.prefix / "calls")))
        path.chmod(0o755)

    def watcher_calls(self) -> list[dict[str, object]]:
        """The calls to ``python -m``, in order, without those that only look for the package."""
        calls = self.prefix / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        return [call for call in map(json.loads, lines) if call["arguments"][0] == "-m"]

    def bash(
        self,
        program: str,
        *arguments: str,
        environment: dict[str, str] | None = None,
        directory: Path | None = None,
        command: tuple[str, ...] = ("bash",),
    ) -> Answer:
        """Run a program in which $LOAD and $UNLOAD name the scripts; environment adds to the Ascend one."""
        at_end = self.prefix / "environment_at_end"
        at_end.unlink(missing_ok=True)
        done = subprocess.run(
            [*command, "-c", f'{program}\n/usr/bin/env -0 >"$ENVIRONMENT_AT_END"', "bash", *arguments],
            env={
                **PLAIN_ENVIRONMENT,
                **ASCEND_ENVIRONMENT,
                "ATBPROBE_RUNTIME_DIR": os.environ["ATBPROBE_RUNTIME_DIR"],
                "LOAD": str(self.load),
                "UNLOAD": str(self.unload),
                "ENVIRONMENT_AT_END": str(at_end),
                **(environment or {}),
            },
            cwd=directory or self.prefix,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        entries = os.fsdecode(at_end.read_bytes()).split("\0") if at_end.exists() else []
        return Answer(
            status=done.returncode,
            stdout=os.fsdecode(done.stdout),
            stderr=os.fsdecode(done.stderr),
            environment=dict(entry.split("=", 1) for entry in entries if entry),
        )


def messages(answer: Answer) -> list[str]:
    return answer.stderr.splitlines()


def assert_nothing_changed(answer: Answer, before: dict[str, str] | None = None) -> None:
    assert answer.probe_variables == (before or {})
    assert answer.stdout == ""
