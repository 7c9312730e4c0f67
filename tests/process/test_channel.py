"""A process and its channel: attaching, and every way in which a channel or an image can be bad.

Whatever is wrong, the host runs on and ends as ever, and one message says what is wrong.
"""

from __future__ import annotations

import itertools
import os
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from probed_host import WAIT_SECONDS, ProbeCaller, Probed, image_of

from atbprobe_rules import native
from atbprobe_rules.channel import Channel, ChannelError, channel_folder
from atbprobe_rules.image import HEADER, with_checksum

EVERYTHING = {"dump_enable": True, "exec_range": "all", "save_child": True}
DIRECTORY = "0_1/0/0_WordEmbedding"
GENERATION_OFFSET = 64
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def dumps(host: ProbeCaller, number: int = 0) -> bool:
    """Whether the host would be let to copy the inputs of an op."""
    return bool(
        host.call("IsExecuteCountInRange", number)
        and host.call("IsSaveTensorInSpecificDir", DIRECTORY)
        and host.call("IsSaveTensorBefore")
    )


def put_generation(folder: Path, generation: int) -> None:
    """Store a control word as no watcher of ours would."""
    with (folder / "control").open("r+b") as control:
        control.seek(GENERATION_OFFSET)
        control.write(generation.to_bytes(8, "little"))


def put_image(folder: Path, generation: int, image: bytes) -> None:
    path = folder / f"image-{generation}"
    path.touch(mode=0o600)
    path.write_bytes(image)
    put_generation(folder, generation)


def with_header(image: bytes, **changes: int) -> bytes:
    """Return the image with other header fields and a checksum that fits them."""
    changed = bytearray(image)
    for name, value in changes.items():
        dtype, offset = HEADER.fields[name][:2]
        changed[offset : offset + dtype.itemsize] = value.to_bytes(dtype.itemsize, "little")
    return with_checksum(changed)


def test_a_process_claims_a_slot_at_its_first_probe_call(probed: Probed) -> None:
    generation = probed.publish(EVERYTHING)
    with probed.caller() as host, probed.channel() as channel:
        assert not host.call("IsOverflowCheck")
        assert channel.processes() == [], "asked by every context, and needs nothing of us"
        assert host.call("IsTensorNeedSave")
        [process] = channel.processes()
        assert (process.pid, process.alive, process.generation) == (host.pid, True, generation)
        assert process.verdict == "ok"
        assert Path(process.program).name == "probe_caller_abi1"


def test_a_process_may_come_before_the_watcher(probed: Probed) -> None:
    with probed.caller() as host:
        assert host.call("IsTensorNeedSave"), "asked once and remembered, so never no"
        assert not dumps(host)
        probed.publish(EVERYTHING)
        assert dumps(host)
        assert probed.process(host.pid).generation == 1


def test_a_process_without_a_config_path_does_nothing_at_all(probed: Probed, runtime_dir: Path) -> None:
    probed.extra_environment["ATB_DUMP_CONFIG"] = ""
    with probed.caller() as host:
        for question in ("IsTensorNeedSave", "IsSaveTensorDesc", "IsSaveTensorData", "IsSaveIntensor"):
            assert not host.call(question)
        assert not host.call("IsReportModelTopoInfo", "model")
        assert not dumps(host)
        assert host.end() == ""
    assert list(runtime_dir.iterdir()) == []
    assert not probed.data.exists()


def test_the_constant_answers(probed: Probed) -> None:
    probed.publish({"dump_enable": False})
    yes = ("IsTensorNeedSave", "IsSaveIntensor", "IsSaveOuttensor", "IsSaveTensorDesc", "IsSaveTensorData")
    no = ("IsSaveChild", "IsSaveTiling", "ReportOperationStatisticEnable", "IsOverflowCheck", "IsOverflowStop")
    with probed.caller() as host:
        assert all(host.call(question) for question in yes)
        assert not any(host.call(question) for question in no)
        models = [host.call("IsReportModelTopoInfo", name) for name in ("a", "b", "a", "b", "c")]
        assert models == [True, True, False, False, True]


def test_dumping_is_announced_once(probed: Probed) -> None:
    probed.publish({"dump_enable": False})
    with probed.caller() as host:
        assert not dumps(host)
        assert not probed.data.exists()
        probed.publish(EVERYTHING)
        assert dumps(host)
        assert probed.data.is_dir()
        probed.publish({"dump_enable": False})
        assert not dumps(host)
        probed.publish(EVERYTHING)
        assert dumps(host)
        messages = host.end()
    ready = "Ready to dump ATB data, the running speed of the model will be affected"
    assert messages.count(ready) == 1
    assert len(messages.splitlines()) == 1


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda image: image[:-1], "bad-length"),
        (lambda image: image[:40], "too-short"),
        (lambda image: b"", "Bad message"),
        (lambda image: image[:-1] + bytes([image[-1] ^ 1]), "bad-checksum"),
        (lambda image: with_header(image, version=0), "other-version"),
        (lambda image: with_header(image, version=2), "other-version"),
        (lambda image: with_header(image, generation=7), "bad-header"),
        (lambda image: b"#!/bin/sh\n" + image[10:], "bad-magic"),
    ],
    ids=["cut", "header cut", "empty", "flipped bit", "older", "newer", "other generation", "foreign"],
)
def test_a_bad_image_leaves_the_last_good_rules_in_force(
    probed: Probed, spoil: Callable[[bytes], bytes], reason: str
) -> None:
    probed.publish(EVERYTHING)
    good = image_of(probed.config)
    folder = channel_folder(str(probed.config))
    with probed.caller() as host:
        assert dumps(host)
        put_image(folder, 2, spoil(with_header(good, generation=2)))
        assert dumps(host, number=1)
        process = probed.process(host.pid)
        assert (process.generation, process.generation_seen) == (1, 2)
        assert process.verdict != "ok"

        put_image(folder, 3, with_header(image_of_nothing(probed), generation=3))
        assert not dumps(host, number=2), "the next good one is taken"
        assert probed.process(host.pid).generation == 3
        refusals = [line for line in host.end().splitlines() if "refused" in line]
    assert len(refusals) == 1
    assert reason in refusals[0]


def image_of_nothing(probed: Probed) -> bytes:
    probed.write({"dump_enable": False})
    return image_of(probed.config)


def test_an_image_that_is_missing_is_refused(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        assert dumps(host)
        put_generation(channel_folder(str(probed.config)), 9)
        assert dumps(host, number=1)
        assert "No such file or directory" in host.end()


def spoil_magic(folder: Path) -> None:
    with (folder / "control").open("r+b") as control:
        control.write(b"SOMEBODY")


def spoil_version(folder: Path) -> None:
    with (folder / "control").open("r+b") as control:
        control.seek(8)
        control.write((0).to_bytes(4, "little"))


def shorten(folder: Path) -> None:
    os.truncate(folder / "control", 4096)


def empty(folder: Path) -> None:
    os.truncate(folder / "control", 0)


def open_to_others(folder: Path) -> None:
    folder.chmod(0o755)


def open_control_to_others(folder: Path) -> None:
    (folder / "control").chmod(0o666)


def link_folder(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


def link_control(folder: Path) -> None:
    (folder / "control").rename(folder / "real")
    (folder / "control").symlink_to("real")


def control_is_a_pipe(folder: Path) -> None:
    (folder / "control").unlink()
    os.mkfifo(folder / "control", 0o600)


def folder_is_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.touch(mode=0o600)


SPOILERS = [
    spoil_magic,
    spoil_version,
    shorten,
    empty,
    open_to_others,
    open_control_to_others,
    link_folder,
    link_control,
    control_is_a_pipe,
    folder_is_a_file,
]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_bad_channel_is_refused_and_the_host_runs_on(probed: Probed, spoil: Callable[[Path], None]) -> None:
    probed.publish(EVERYTHING)
    folder = channel_folder(str(probed.config))
    spoil(folder)
    with probed.caller() as host:
        assert host.call("IsTensorNeedSave")
        assert not dumps(host)
        messages = host.end()
    assert len(messages.splitlines()) == 1
    assert str(folder) in messages
    assert "no rules can reach this process" in messages
    with pytest.raises(ChannelError):
        Channel.create(folder)


@needs_root
@pytest.mark.parametrize("what", [".", "control", ".."], ids=["folder", "control", "runtime folder"])
def test_a_channel_of_another_user_is_refused(probed: Probed, what: str) -> None:
    probed.publish(EVERYTHING)
    folder = channel_folder(str(probed.config))
    os.chown(folder / what, 65534, 65534)
    try:
        with probed.caller() as host:
            assert not dumps(host)
            assert "Operation not permitted" in host.end()
    finally:
        os.chown(folder / what, 0, 0)


@needs_root
def test_an_image_of_another_user_is_refused(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    os.chown(channel_folder(str(probed.config)) / "image-1", 65534, 65534)
    with probed.caller() as host:
        assert not dumps(host)
        assert "Operation not permitted" in host.end()


def test_a_closed_channel_is_left_for_a_new_one(probed: Probed) -> None:
    """A watcher takes its channel away; a process that was on the way to it attaches to the next one."""
    probed.publish(EVERYTHING)
    folder = channel_folder(str(probed.config))
    with probed.caller() as host:
        assert dumps(host)
        native.channel_close(str(folder))
        shutil.rmtree(folder)
        assert dumps(host, number=1), "rules stay in force"
        assert probed.publish({"dump_enable": False}) == 1, "the process has made a channel for the next watcher"
        assert not dumps(host, number=2)


def test_publishing_a_bad_image_is_refused(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    with probed.channel() as channel:
        with pytest.raises(ChannelError, match="Bad message"):
            channel.publish(image_of(probed.config)[:-1])
        assert channel.generation == 1


def test_a_forked_child_has_a_slot_of_its_own(probed: Probed) -> None:
    """A shell that execs is the plainest case: two processes in turn, the second under the same pid."""
    probed.publish(EVERYTHING)
    caller = probed.native_file("probe_caller_abi1")
    question = "0\\tIsTensorNeedSave\\n"
    script = f"printf '{question}' | {caller}; printf '{question}' | {caller}"
    done = subprocess.run(["sh", "-c", script], env=probed.environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "true\ntrue\n"), done.stderr
    with probed.channel() as channel:
        processes = channel.processes()
    assert len({process.pid for process in processes}) == 2
    assert not any(process.alive for process in processes)


def test_programs_that_never_call_the_probe_leave_no_trace(probed: Probed, runtime_dir: Path) -> None:
    plain = subprocess.run(["ls", "/"], capture_output=True)
    done = subprocess.run(["ls", "/"], env=probed.environment(), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, b"")
    assert list(runtime_dir.iterdir()) == []
    assert not probed.data.parent.exists()


def test_messages_never_go_to_stdout(probed: Probed) -> None:
    """The caller's answers are the only thing on stdout, which call() has read word by word."""
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        assert dumps(host)
        assert re.match(r"\[?atbprobe", host.end())


def test_a_channel_that_was_closed_halfway_is_opened_again(probed: Probed) -> None:
    """Closed and still in its place: whoever was taking it away has died."""
    probed.publish(EVERYTHING)
    folder = channel_folder(str(probed.config))
    with probed.caller() as host:
        assert dumps(host)
        native.channel_close(str(folder))
        assert all(dumps(host, number) for number in range(1, 50)), "rules stay in force"
        mappings = Path(f"/proc/{host.pid}/maps").read_text(encoding="utf-8").count("/control")
        assert mappings <= 2, "each question must not attach anew"
        assert probed.publish({"dump_enable": False}) == 1
        assert not dumps(host, number=50)
        assert host.end().count("\n") == 1


def test_hits_are_those_of_the_rules_in_force(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        for number in range(5):
            assert dumps(host, number)
        assert probed.process(host.pid).hits[0] == 5
        probed.publish({**EVERYTHING, "task": "statistics"})
        assert dumps(host, number=5)
        process = probed.process(host.pid)
        assert (process.hits[0], process.ops_selected) == (1, 6)


def test_out_of_descriptors_is_no_final_answer(probed: Probed) -> None:
    """A process that cannot open a file for a moment takes its rules when it can."""
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        assert not host.call("IsOverflowCheck"), "it has started, and needs nothing of us yet"
        limits = resource.prlimit(host.pid, resource.RLIMIT_NOFILE)
        none_left = (0, limits[1])
        resource.prlimit(host.pid, resource.RLIMIT_NOFILE, none_left)
        assert host.call("IsTensorNeedSave")
        assert not dumps(host)
        assert probed.process_count() == 0
        resource.prlimit(host.pid, resource.RLIMIT_NOFILE, limits)
        until = time.monotonic() + WAIT_SECONDS
        rounds = itertools.count(1)
        while not dumps(host, next(rounds)):
            assert time.monotonic() < until
        resource.prlimit(host.pid, resource.RLIMIT_NOFILE, none_left)
        probed.publish({"dump_enable": False})
        assert dumps(host, next(rounds)), "the last good rules stay"
        resource.prlimit(host.pid, resource.RLIMIT_NOFILE, limits)
        while dumps(host, next(rounds)):
            assert time.monotonic() < until
        assert probed.process(host.pid).generation == 2
        assert host.end().count("no rules can reach this process") == 1


def test_a_forked_child_has_the_rules_of_its_parent_and_says_so(probed: Probed) -> None:
    """Without an edit in between: what was in force before the fork counts in the child, and `wait` can see it."""
    generation = probed.publish(EVERYTHING)
    with probed.caller() as host:
        assert dumps(host)
        assert host.call("fork") is None
        assert dumps(host, number=1)
        with probed.channel() as channel:
            processes = channel.live_processes()
        assert len(processes) == 2
        assert [process.generation for process in processes] == [generation, generation]
        [child] = [process for process in processes if process.pid != host.pid]
        assert child.ops_selected == 1
        messages = host.end()
    assert messages.count("Ready to dump ATB data") == 2, "two processes dump"
