"""Where a process finds no room, no right, or somebody else: it says so once, and the model runs on."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from probed_host import Host, Probed, command
from test_channel import dumps
from watching import status

from atbprobe_rules.channel import channel_folder
from atbprobe_rules.channel_layout import SLOT_BYTES, SLOT_COUNT, SLOTS_OFFSET
from atbprobe_rules.processes import start_time_of

EVERYTHING: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "save_child": True}
NO_CHANNEL = "[atbprobe] ERROR: no rules can reach this process: cannot use the channel {folder}: {reason}"


def reason_for_no_namespaces(*options: str) -> str | None:
    if shutil.which("unshare") is None:
        return "unshare is not on PATH"
    done = subprocess.run(["unshare", *options, "true"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"namespaces are not permitted here: {done.stderr.strip()}"


@pytest.fixture
def mounts() -> None:
    """A mount namespace, with a user namespace that lets anybody mount in it."""
    if (reason := reason_for_no_namespaces("-rm")) is not None:
        pytest.skip(reason)


@pytest.fixture
def pid_namespace() -> list[str]:
    """What starts a program in a pid namespace of its own."""
    options = ["--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        options = ["-r", *options]
    if (reason := reason_for_no_namespaces(*options)) is not None:
        pytest.skip(reason)
    return ["unshare", *options]


class PlacedHost(Host):
    """A probe caller that something else starts, under a pid that is not known here."""

    def __enter__(self) -> PlacedHost:
        return self

    def call(self, function: str, *arguments: object) -> str:
        self.send("\t".join(["0", function, *map(str, arguments)]) + "\n")
        return self.read_line()

    def is_asked_on(self, number: int) -> bool:
        """Whether anything may be dumped in a round."""
        return self.call("IsExecuteCountInRange", number) == "true"


def placed(probed: Probed, launcher: Sequence[str]) -> PlacedHost:
    return PlacedHost(probed.native_file("probe_caller_abi1"), probed.environment(), launcher=launcher)


def mounting(script: str) -> list[str]:
    """Run a program after `script` in a mount namespace; the probe is loaded into everything, and not used there."""
    return ["unshare", "-rm", "sh", "-ec", f'{script}; exec "$0" "$@"']


# Slots ---------------------------------------------------------------------------------------------------------------


def put_owner(probed: Probed, owner: int, slots: Iterable[int]) -> None:
    with (channel_folder(str(probed.config)) / "control").open("r+b") as control:
        for slot in slots:
            control.seek(SLOTS_OFFSET + slot * SLOT_BYTES)
            control.write(owner.to_bytes(8, "little"))


def owner_word(pid: int) -> int:
    return pid << 32 | start_time_of(pid) & 0xFFFFFFFF


def test_more_processes_than_slots(probed: Probed) -> None:
    """It works without one, says so once, and takes one with an edit that comes when one is free."""
    probed.publish(EVERYTHING)
    put_owner(probed, owner_word(os.getpid()), range(SLOT_COUNT))
    with probed.caller() as host:
        assert dumps(host)
        host.call("ReportOperationIOTensorEnable")
        probed.publish({"dump_enable": False})
        assert not dumps(host, number=1)
        probed.publish(EVERYTHING)
        assert dumps(host, number=2)
        host.save_tensor("0_1/0/0_WordEmbedding/before/intensor0.bin", b"\0\0\0\0")
        with probed.channel() as channel:
            assert host.pid not in {process.pid for process in channel.processes()}

        ended = subprocess.Popen(["true"])
        owner = owner_word(ended.pid)
        ended.wait()
        put_owner(probed, owner, [77])
        generation = probed.publish(EVERYTHING)
        assert dumps(host, number=3)
        process = probed.process(host.pid)
        assert (process.generation, process.ops_selected, process.ops_open) == (generation, 1, 1)
        messages = [line for line in host.end().splitlines() if "Ready" not in line]
    assert messages == [
        "[atbprobe] WARNING: all 128 process slots are taken: this process works but status does not show it"
    ]
    assert any(path.endswith("intensor0.bin") for path in probed.files())


# The library, more than once -----------------------------------------------------------------------------------------


def copied_library(probed: Probed) -> Path:
    copy = probed.folder / "copy" / "libatb_probe_abi1.so"
    copy.parent.mkdir()
    shutil.copy(probed.environment()["LD_PRELOAD"], copy)
    return copy


@pytest.mark.parametrize("separator", [":", " "], ids=["colon", "blank"])
@pytest.mark.parametrize("what", ["itself", "a copy"])
def test_a_library_that_is_preloaded_twice(probed: Probed, what: str, separator: str) -> None:
    library = probed.environment()["LD_PRELOAD"]
    second = library if what == "itself" else str(copied_library(probed))
    probed.extra_environment["LD_PRELOAD"] = f"{library}{separator}{second}"
    probed.publish(EVERYTHING)
    with probed.model() as model:
        model.step()
    assert model.messages.count("\n") == model.messages.count("Ready to dump ATB data") == 1
    assert probed.process(model.pid).ops_open == 0
    assert probed.process_count() == 1
    assert probed.files()


def test_a_copy_that_is_loaded_later(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        assert dumps(host)
        host.call("ReportOperationIOTensorEnable")
        assert host.call("Dlopen", copied_library(probed))
        assert host.call("IsTensorNeedSave")
        probed.publish({"dump_enable": False})
        assert not dumps(host, number=1)
        assert probed.process_count() == 1
        assert host.end().count("\n") == 1


# Shared memory -------------------------------------------------------------------------------------------------------

PLACES = {
    "full": ("mount -t tmpfs -o size=16k,mode=0700 tmpfs $ATBPROBE_RUNTIME_DIR", "No space left on device"),
    "read-only": ("mount -t tmpfs -o ro,mode=0700 tmpfs $ATBPROBE_RUNTIME_DIR", "Read-only file system"),
    "open to others": ("mount -t tmpfs -o mode=0777 tmpfs $ATBPROBE_RUNTIME_DIR", "Operation not permitted"),
}


@pytest.mark.usefixtures("mounts")
@pytest.mark.parametrize(("script", "reason"), PLACES.values(), ids=PLACES)
def test_a_place_for_channels_that_is(probed: Probed, script: str, reason: str) -> None:
    probed.write(EVERYTHING)
    with placed(probed, mounting(script)) as host:
        assert host.call("IsTensorNeedSave") == "true"
        assert not any(host.is_asked_on(number) for number in range(50))
        messages = host.end().splitlines()
    assert messages == [NO_CHANNEL.format(folder=channel_folder(str(probed.config)), reason=reason)]
    assert not probed.data.exists()


@pytest.mark.usefixtures("mounts")
def test_no_shared_memory_at_all(probed: Probed) -> None:
    probed.write(EVERYTHING)
    probed.extra_environment["ATBPROBE_RUNTIME_DIR"] = ""
    with placed(probed, mounting("mount -t tmpfs tmpfs /dev")) as host:
        assert host.call("IsTensorNeedSave") == "true"
        assert not any(host.is_asked_on(number) for number in range(50))
        messages = host.end()
    assert messages.count("\n") == 1
    assert "cannot use the channel /dev/shm/atbprobe-0/" in messages
    assert messages.endswith(": No such file or directory\n")


def test_a_place_below_a_folder_that_comes_later(probed: Probed, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where shared memory is mounted after a daemon has started: the process takes its rules then."""
    runtime = probed.folder / "later" / "runtime"
    monkeypatch.setenv("ATBPROBE_RUNTIME_DIR", str(runtime))
    with probed.caller() as host:
        assert host.call("IsTensorNeedSave")
        assert not dumps(host)
        runtime.parent.mkdir()
        probed.publish(EVERYTHING)
        number = 1
        while not dumps(host, number):  # it looks again ten times a second
            number += 1
        assert host.end().count("no rules can reach this process") == 1


def test_a_channel_that_is_replaced_under_a_process(probed: Probed) -> None:
    """By hand, and so without a word to it: it keeps its rules, and touches nothing of what is there now."""
    probed.publish(EVERYTHING)
    folder = channel_folder(str(probed.config))
    with probed.caller() as host:
        assert dumps(host)
        shutil.rmtree(folder)
        probed.publish({"dump_enable": False})
        before = (folder / "control").read_bytes()
        assert dumps(host, number=1)
        assert (folder / "control").read_bytes() == before
        assert host.end().count("\n") == 1


# Containers ----------------------------------------------------------------------------------------------------------


def test_a_watcher_outside_and_a_model_in_a_container(watched: Probed, pid_namespace: list[str]) -> None:
    """They share folders and the config's path, and have nothing to do with each other. `status` says so."""
    watched.write(EVERYTHING)
    command("wait", "--config", str(watched.config))
    outside = channel_folder(str(watched.config))
    with placed(watched, pid_namespace) as host:
        assert host.call("IsTensorNeedSave") == "true"
        assert not host.is_asked_on(0)
        assert status(watched)["processes"] == []
        told = command("status", "--config", str(watched.config)).stdout
        assert "runs in another pid namespace (a container)" in told
        assert host.end() == ""
    inside = [path for path in outside.parent.iterdir() if path.name != outside.name]
    assert len(inside) == 1, "a channel of its own"
    shutil.rmtree(inside[0])
