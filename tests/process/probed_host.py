"""Real hosts under a real preload: what the process tests drive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from atbprobe_rules.attached_process import Process
from atbprobe_rules.channel import Channel, channel_folder
from atbprobe_rules.compiled_config import compile_config
from atbprobe_rules.config_file import read_config_file
from atbprobe_rules.image import encode

NativeFile = Callable[[str], Path]
ANSWERS = {"true": True, "false": False, "done": None}
WAIT_SECONDS = 60


@dataclass
class Probed:
    """A place to dump to, with its config and channel, and the processes that a test starts there."""

    folder: Path
    native_file: NativeFile
    abi: int = 1
    extra_environment: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.folder / "config.json"

    @property
    def data(self) -> Path:
        return self.folder / "atb_dump_data" / "data"

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "LD_PRELOAD": str(self.native_file(f"libatb_probe_abi{self.abi}.so")),
            "ATB_OUTPUT_DIR": str(self.folder),
            "ATB_DUMP_CONFIG": str(self.config),
            **self.extra_environment,
        }

    def write(self, rules: dict[str, Any]) -> None:
        """Put rules into the config file, in one step."""
        temporary = self.config.with_name(".config.new")
        temporary.write_text(json.dumps(rules), encoding="utf-8")
        temporary.chmod(0o600)
        temporary.replace(self.config)

    def channel(self) -> Channel:
        return Channel.create(channel_folder(str(self.config)))

    def publish(self, rules: dict[str, Any]) -> int:
        """Write and publish rules as a watcher would, without one; return their generation."""
        self.write(rules)
        return self.publish_image(image_of(self.config))

    def publish_image(self, image: bytes) -> int:
        with self.channel() as channel:
            return channel.publish(image)

    def process(self, pid: int) -> Process:
        with self.channel() as channel:
            return next(process for process in channel.processes() if process.pid == pid)

    def process_count(self) -> int:
        with self.channel() as channel:
            return len(channel.processes())

    def caller(self) -> ProbeCaller:
        return ProbeCaller(self.native_file(f"probe_caller_abi{self.abi}"), self.environment())

    def model(self, *options: str) -> Model:
        return Model(self.native_file(f"standin_model_abi{self.abi}"), self.environment(), options)

    def files(self) -> dict[str, bytes]:
        """Everything below data/ except the owner files: path relative to it → content."""
        found = {}
        for path in sorted(self.data.rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                found[str(path.relative_to(self.data))] = path.read_bytes()
        return found


def image_of(config: Path) -> bytes:
    """Compile a config file that must be valid."""
    compiled = compile_config(read_config_file(config), config)
    assert compiled.program is not None, compiled.checked.render()
    return encode(compiled.program)


def wait_until(holds: Callable[[], object]) -> None:
    """Return as soon as something holds that other processes bring about."""
    until = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < until
        os.sched_yield()


def command(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run `atbprobe-rules` as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", *arguments],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done


class Host:
    """A process that takes a line on stdin and answers with a line on stdout. Its stderr is kept."""

    def __init__(
        self, program: Path, environment: dict[str, str], options: Sequence[str] = (), launcher: Sequence[str] = ()
    ) -> None:
        self._host = subprocess.Popen(
            [*launcher, str(program), *options],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",
        )
        self.messages = ""
        self.exit_code: int | None = None

    @property
    def pid(self) -> int:
        return self._host.pid

    def send(self, text: str) -> None:
        assert self._host.stdin is not None
        self._host.stdin.write(text)
        self._host.stdin.flush()

    def read_line(self) -> str:
        assert self._host.stdout is not None
        line = self._host.stdout.readline()
        assert line.endswith("\n"), f"the host ended: {self.end()}"
        return line[:-1]

    def end(self) -> str:
        """Close its stdin, wait for its end, and return what it wrote to stderr."""
        _, self.messages = self._host.communicate(timeout=WAIT_SECONDS)
        self.exit_code = self._host.returncode
        return self.messages

    def kill(self) -> None:
        self._host.kill()

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.exit_code is None:
            if error is not None:
                self._host.kill()
            self.end()
        if error is None:
            assert self.exit_code == 0, f"exit code {self.exit_code}: {self.messages}"


class ProbeCaller(Host):
    """Makes single probe calls; see tests/native/probe_caller.cpp."""

    def __enter__(self) -> ProbeCaller:
        return self

    def call(self, function: str, *arguments: object, thread: int = 0) -> bool | None:
        """Make one call and return its answer; None for a function without one."""
        return self.call_all([(thread, function, arguments)])[0]

    def call_all(self, calls: Iterable[tuple[int, str, Sequence[object]]]) -> list[bool | None]:
        """Make calls (thread, function, arguments) one after the other and return their answers."""
        answers: list[bool | None] = []
        lines = ["\t".join([str(thread), name, *map(str, given)]) + "\n" for thread, name, given in calls]
        batch = 200  # few enough for both pipes to hold
        for start in range(0, len(lines), batch):
            self.send("".join(lines[start : start + batch]))
            answers += [ANSWERS[self.read_line()] for _ in lines[start : start + batch]]
        return answers

    def save_tensor(
        self, path: str, data: bytes, *, dtype: int = 0, dims: str = "", fmt: int = 2, thread: int = 0
    ) -> None:
        self.call("SaveTensor", fmt, dtype, dims, path, data.hex(), thread=thread)


class Model(Host):
    """The stand-in's transformer, a step at a time. A launcher becomes it in the end."""

    def __init__(
        self, program: Path, environment: dict[str, str], options: Sequence[str], launcher: Sequence[str] = ()
    ) -> None:
        super().__init__(program, environment, ["--control", "--quiet", *options], launcher)

    def __enter__(self) -> Model:
        assert self.read_line() == f"ready {self.pid}"
        return self

    def step(self, count: int = 1) -> None:
        """Run `count` steps to their end."""
        self.send(f"step {count}\n")
        assert self.read_line().startswith("done ")
