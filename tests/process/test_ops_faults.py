"""Requests to list operations where something goes wrong: the model goes on, and nothing is left behind."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from listed_host import ListedHost, bells, request_heard
from probed_host import WAIT_SECONDS, Probed, command, wait_until
from watching import start_watcher

from atbprobe_rules import native
from atbprobe_rules.channel import Channel, remove_channel, runtime_lock
from atbprobe_rules.listing.ops import ListedOp, ops_of
from atbprobe_rules.listing.records import ListingEnd
from atbprobe_rules.listing.request import AnswerFile, OpsRequest, ops_requested
from atbprobe_rules.processes import ProcessName

LAYER = ["1_Layer", "1_Layer/0_Add", "1_Layer/0_Add/0_AddKernel"]


@pytest.fixture
def channel(probed: Probed) -> Iterator[Channel]:
    with probed.channel() as made:
        yield made


@pytest.fixture
def host(probed: Probed, channel: Channel) -> Iterator[ListedHost]:
    """A host that has executed something already."""
    with probed.caller() as caller:
        running = ListedHost(caller)
        running.layer(0)
        yield running


def answer(request: OpsRequest) -> AnswerFile:
    (file,) = request.answers()
    return file


def listed(file: AnswerFile) -> list[ListedOp]:
    return ops_of(file.pid, file.read().records)


def test_a_round_begins_and_ends_with_layers(host: ListedHost, channel: Channel) -> None:
    with request_heard(host, channel) as request:
        host.layer(1, 3)
        host.layer(2, 3, "Other")
        assert not answer(request).is_finished
        host.begin_layer(1, 4)
        file = answer(request)
        assert (file.pid, file.is_finished) == (host.caller.pid, True)
        ops = listed(file)
        other = [path.replace("1_Layer", "2_Other") for path in LAYER]
        assert [op.path for op in ops] == [*LAYER, *other]
        assert {op.round for op in ops} == {3}
        assert [len(op.inputs) for op in ops] == [0, 1, 1] * 2
        assert [(op.kind, op.name) for op in ops[1:3]] == [("operation", "Add"), ("kernel", "AddKernel")]
        host.layer(1, 5)
        assert answer(request).read().end is ListingEnd.COMPLETE
        assert len(listed(answer(request))) == len(ops)


def test_a_request_that_comes_in_the_middle_of_a_layer_waits_for_the_next(host: ListedHost, channel: Channel) -> None:
    """Even though the end of a layer begins with the same questions as the beginning of one."""
    host.begin_layer(1)
    with ops_requested(channel, 1) as request:
        host.operation(0, "0_1/0/1_Layer/0_Add", "Add_1_0")
        host.end_layer(1)
        assert request.answers() == []
        host.layer(2)
        host.layer(1, 1)
        host.begin_layer(2, 1)
        assert [op.path for op in listed(answer(request))][::3] == ["2_Layer", "1_Layer"]
        assert answer(request).is_finished


def test_the_same_directory_again_is_another_execution(host: ListedHost, channel: Channel) -> None:
    """Set up once, executed twice: only the round tells."""
    with request_heard(host, channel, 2) as request:
        for round_number in range(3):
            layer = "0_1/0/1_Layer"
            host.ask_pass(round_number, layer, "Before")
            host.operation(round_number, f"{layer}/0_Add", "Add_1_0")
            host.ask_pass(round_number, layer, "After")
        assert [(op.path, op.round) for op in listed(answer(request))] == [
            (path, number) for number in range(2) for path in LAYER
        ]
        assert answer(request).is_finished


def test_new_rules_in_the_middle_change_nothing_of_it(probed: Probed, host: ListedHost, channel: Channel) -> None:
    with request_heard(host, channel) as request:
        host.begin_layer(1)
        probed.publish({"dump_enable": True, "exec_range": "100"})
        host.layer(2)
        probed.publish({"dump_enable": False})
        host.layer(1, 1)
        assert [op.path for op in listed(answer(request))][:1] == ["1_Layer"]
        assert answer(request).is_finished


def test_each_thread_answers_and_one_that_ends_says_so(host: ListedHost, channel: Channel) -> None:
    with request_heard(host, channel) as request:
        host.layer(1)
        other = ListedHost(host.caller, thread=1)
        other.layer(7)
        host.caller.call("EndThread", thread=1)
        ends = {answer.thread: answer.read().end for answer in request.answers()}
        assert sorted(ends.values(), key=str) == sorted([None, ListingEnd.THREAD_ENDED], key=str)
        # A new thread that goes by the old one's record is another one.
        other.layer(8)
        other.layer(8, 1)
        assert len(request.answers()) == 3


def test_a_forked_child_answers_for_itself(host: ListedHost, channel: Channel) -> None:
    with request_heard(host, channel) as first:
        host.layer(1)
        before = answer(first).read()
        host.caller.call("fork")
        host.layer(1)  # in the child, from here on
        host.layer(2)
        parent = next(file for file in first.answers() if file.pid == host.caller.pid)
        assert parent.read() == before, "it has the parent's listing no more"
    with request_heard(host, channel) as second:
        host.layer(3)
        host.begin_layer(3, 1)
        assert answer(second).pid != host.caller.pid
        assert answer(second).is_finished


def test_an_asker_that_does_not_wait_any_longer_is_forgotten(host: ListedHost, channel: Channel) -> None:
    with request_heard(host, channel) as request:
        host.layer(1)
        assert answer(request)
    host.layer(1)
    host.layer(2)
    with request_heard(host, channel) as request:
        host.layer(1, 1)
        host.begin_layer(1, 2)
        assert answer(request).is_finished
    assert list(channel.folder.glob("ops-*")) == []


def start_asker(probed: Probed) -> subprocess.Popen[str]:
    command_line = [sys.executable, "-m", "atbprobe_rules", "ops", "--config", str(probed.config)]
    return subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until_asked(asker: subprocess.Popen[str], channel: Channel, before: int) -> Path:
    """Wait until an asker has rung the bell, which said `before`; return its request."""

    def is_asked() -> bool:
        assert asker.poll() is None
        return bells(channel) > before

    wait_until(is_asked)
    return next(channel.folder.glob(f"ops-{asker.pid}-*"))


@pytest.mark.parametrize("sweeper", ["the next asker", "the next watcher"])
def test_what_a_killed_asker_leaves_is_taken_away(
    probed: Probed, host: ListedHost, channel: Channel, sweeper: str
) -> None:
    before = bells(channel)
    with start_asker(probed) as asker:
        left = wait_until_asked(asker, channel, before)
        host.set_up()
        host.begin_layer(1)
        asker.kill()
        asker.communicate(timeout=WAIT_SECONDS)
    (file,) = left.iterdir()
    size = file.stat().st_size
    host.layer(2)
    assert file.stat().st_size == size, "nothing is written for the dead"
    if sweeper == "the next asker":
        with ops_requested(channel, 1):
            assert not left.exists()
    else:
        start_watcher(probed.config)
        wait_until(lambda: not left.exists())
        command("stop", "--config", str(probed.config))


def test_an_interrupted_asker_takes_its_request_away(probed: Probed, host: ListedHost, channel: Channel) -> None:
    before = bells(channel)
    with start_asker(probed) as asker:
        wait_until_asked(asker, channel, before)
        asker.send_signal(signal.SIGINT)
        asker.communicate(timeout=WAIT_SECONDS)
    assert asker.returncode == 130
    assert list(channel.folder.glob("ops-*")) == []


def test_of_a_killed_process_there_is_what_it_had_listed(probed: Probed, channel: Channel) -> None:
    with probed.caller() as caller:
        host = ListedHost(caller)
        host.layer(0)
        before = bells(channel)
        with start_asker(probed) as asker:
            wait_until_asked(asker, channel, before)
            host.set_up()
            host.layer(1)
            host.layer(2)
            caller.kill()
            output, messages = asker.communicate(timeout=WAIT_SECONDS)
        caller.end()
        caller.exit_code = 0  # as was wanted
    assert asker.returncode == 3
    assert f"process {caller.pid} ended before its rounds were over; 6 ops of it are listed" in messages
    assert "AddKernel" in output


def test_a_channel_that_is_taken_away(probed: Probed, host: ListedHost, channel: Channel) -> None:
    before = bells(channel)
    with start_asker(probed) as asker:
        wait_until_asked(asker, channel, before)
        with runtime_lock(channel.folder):
            remove_channel(channel.folder)
        _, messages = asker.communicate(timeout=WAIT_SECONDS)
    assert asker.returncode == 1
    assert "was taken away" in messages
    host.layer(1)
    with probed.channel() as again, request_heard(host, again) as request:
        host.layer(2)
        host.begin_layer(2, 1)
        assert answer(request).is_finished, "the process has come along"


def test_what_is_no_request_is_passed_over(host: ListedHost, channel: Channel, tmp_path: Path) -> None:
    this = ProcessName.of_this()
    own = f"ops-{this.pid}-{this.start_time}"
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    odd = [
        "ops-",
        "ops-1-1-1-1",
        f"ops-{this.pid}-{this.start_time + 1}-1-1",
        f"{own}-1-0",
        f"{own}-1-1001",
        f"{own}-1-1x",
        f"{own}-1",
        f"ops-{2**64}-1-1-1",
        f"ops-0-{this.start_time}-1-1",
        f"{own}-{'1' * 200}-1",
    ]
    for name in odd:
        (channel.folder / name).mkdir(mode=0o700)
    open_to_all = channel.folder / f"{own}-2-1"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (channel.folder / f"{own}-3-1").symlink_to(outside)
    (channel.folder / f"{own}-4-1").touch(mode=0o600)
    native.channel_ring(str(channel.folder))
    host.layer(1)
    host.layer(1, 1)
    folders = [channel.folder / name for name in odd]
    assert [path for folder in [*folders, open_to_all, outside] for path in folder.glob("*")] == []
    for folder in [*folders[3:], open_to_all]:
        folder.rmdir() if folder.exists() else None
    with request_heard(host, channel) as request:
        host.layer(1, 2)
        host.begin_layer(1, 3)
        assert answer(request).is_finished
    (channel.folder / f"{own}-3-1").unlink()
    (channel.folder / f"{own}-4-1").unlink()


def test_an_answer_that_was_tampered_with_is_given_up(host: ListedHost, channel: Channel) -> None:
    with request_heard(host, channel) as request:
        host.begin_layer(1)
        with answer(request).path.open("ab") as file:
            file.write(b"more")
        size = answer(request).path.stat().st_size
        host.layer(2)
        assert answer(request).path.stat().st_size == size
    assert "operations cannot be listed" in host.caller.end()


def test_where_it_cannot_be_written_the_process_says_so_once(host: ListedHost, channel: Channel) -> None:
    resource.prlimit(host.caller.pid, resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
    for _ in range(2):
        with request_heard(host, channel) as request:
            host.layer(1)
            host.layer(2)
            assert not answer(request).is_finished
            assert all(op.path in LAYER for op in listed(answer(request)))
            assert answer(request).path.stat().st_size <= 300
    assert host.caller.end().count("operations cannot be listed: File too large") == 1


def test_names_without_bounds_end_a_listing_and_nothing_else(host: ListedHost, channel: Channel) -> None:
    with request_heard(host, channel) as request:
        host.layer(1)
        host.begin_layer(2, name="x" * (2 << 20))
        assert answer(request).read().end is ListingEnd.TOO_LARGE
        assert [op.path for op in listed(answer(request))] == LAYER
        host.layer(3)
    with request_heard(host, channel) as request:
        host.layer(3, name="Mlp<Silu>\x1b[31m")
        host.begin_layer(3, 1, name="Mlp<Silu>\x1b[31m")
        assert listed(answer(request))[0].name == "Mlp<Silu>\x1b[31m"


@pytest.mark.soak
def test_a_process_keeps_so_much_and_no_more(host: ListedHost, channel: Channel) -> None:
    with request_heard(host, channel, 1000) as request:
        for number in range(80):
            host.begin_layer(number, name="x" * 900_000)
        assert answer(request).read().end is ListingEnd.TOO_LARGE
        assert answer(request).path.stat().st_size <= 65 << 20


def test_hosts_that_report_without_being_asked(host: ListedHost, channel: Channel) -> None:
    tensor = "float16;nd;2,3;0_1/0/1_Layer/after/intensor0.bin"
    host.caller.call("ReportOperationIOTensor", 0, "Add", tensor, "")
    with request_heard(host, channel) as request:
        host.caller.call("ReportKernelIOTensor", 0, "Add", "", tensor)
        host.layer(1)
        host.caller.call("ReportKernelIOTensor", 0, "Stray", "", "")
        host.begin_layer(1, 1)
        assert answer(request).is_finished
        assert [op.path for op in listed(answer(request))] == LAYER


def test_a_process_that_has_no_channel_has_no_bell(probed: Probed, channel: Channel) -> None:
    probed.publish({"dump_enable": False})
    image = probed.folder / "rules.image"
    command("compile", str(probed.config), "-o", str(image))
    probed.extra_environment["ATBPROBE_IMAGE"] = str(image)
    with probed.caller() as caller, ops_requested(channel, 1) as request:
        ListedHost(caller).layer(0)
        assert request.answers() == []
    assert list(channel.folder.parent.iterdir()) == [channel.folder]
