"""Hosts that close descriptors which they did not open, and open files of their own under the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from probed_host import Host, Probed
from saver_driver import loose_ends
from threaded_host import DUMP_ALL, assert_round_is_whole

COUNT = 30
ELEMENTS = 100


class ClosingHost(Host):
    """See tests/native/closing_host.cpp."""

    def __init__(self, probed: Probed) -> None:
        super().__init__(probed.native_file("closing_host"), probed.environment())

    def __enter__(self) -> ClosingHost:
        return self

    def ask(self, *command: object) -> str:
        self.send(" ".join(map(str, command)) + "\n")
        return self.read_line()


def wait_until_saved(probed: Probed, host: ClosingHost, count: int) -> None:
    """Return when so many tensors are on disk and the writers have nothing to do."""
    with probed.channel() as channel:
        while True:
            (process,) = [process for process in channel.processes() if process.pid == host.pid]
            assert not any(process.lost.values()), process.lost
            assert process.alive
            if (process.tensors_saved, process.bytes_queued) == (count, 0):
                return


def fresh_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("level", [0, 1], ids=["whole", "references"])
@pytest.mark.parametrize("queue", ["", "0"], ids=["queue", "no queue"])
def test_files_of_the_host_get_nothing_of_ours(probed: Probed, tmp_path: Path, queue: str, level: int) -> None:
    """The folders and the statistic.csv that writers keep open are lost; they notice before they use them."""
    probed.extra_environment["ATBPROBE_QUEUE_BYTES"] = queue
    probed.publish({**DUMP_ALL, "filter_level": level})
    times = 4
    with ClosingHost(probed) as host:
        assert host.ask("save", 0, COUNT, ELEMENTS) == "done"
        for number in range(1, times + 1):
            wait_until_saved(probed, host, number * COUNT)
            folder = fresh_folder(tmp_path / f"own{number}")
            assert host.ask("close", folder) == "done"
            names = {path.name for path in folder.iterdir()}
            assert host.ask("save", number * COUNT, COUNT, ELEMENTS) == "done"
            wait_until_saved(probed, host, (number + 1) * COUNT)
            assert host.ask("check") == "whole"
            assert {path.name for path in folder.iterdir()} == names
    assert "lost" not in host.messages
    assert_round_is_whole(probed.data / f"0_{host.pid}" / "0", range((times + 1) * COUNT), ELEMENTS)
    assert loose_ends(probed.folder) == []


def test_descriptors_closed_in_the_middle_of_a_large_file(probed: Probed, tmp_path: Path) -> None:
    """The file is written once more from the start."""
    elements = 4 << 20
    preload = [probed.environment()["LD_PRELOAD"], str(probed.native_file("libslow_disk.so"))]
    # Slow enough for each of its writes to be met; and on a disk where large tensors, too, wait in the queue.
    slow_disk = {"SLOW_DISK_BYTES_PER_SECOND": "50000000", "SLOW_DISK_IS_REMOTE": "1"}
    probed.extra_environment |= {"LD_PRELOAD": ":".join(preload), **slow_disk}
    probed.publish(DUMP_ALL)
    with ClosingHost(probed) as host:
        for number in range(3):
            assert host.ask("save", number, 1, elements) == "done"
            while not loose_ends(probed.folder):
                assert probed.process(host.pid).tensors_saved == number, "it went by unseen"
            assert host.ask("close", fresh_folder(tmp_path / f"own{number}")) == "done"
            wait_until_saved(probed, host, number + 1)
            assert host.ask("check") == "whole"
    assert "lost" not in host.messages
    assert_round_is_whole(probed.data / f"0_{host.pid}" / "0", range(3), elements)
    assert loose_ends(probed.folder) == []
