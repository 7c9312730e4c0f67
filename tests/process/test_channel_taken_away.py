"""Channels that are taken away while processes are on the way to them."""

from __future__ import annotations

import threading

from probed_host import Probed

from atbprobe_rules import native
from atbprobe_rules.channel import Channel, channel_folder, close_and_remove, remove_channel
from atbprobe_rules.channel_layout import CLOSED

LAYERS = {"dump_enable": True, "exec_range": "all"}


def test_what_was_taken_away_stays_closed(probed: Probed) -> None:
    """Whoever has come upon it goes on to the next one, and would wait for its next word forever otherwise."""
    folder = channel_folder(str(probed.config))
    over = threading.Event()
    failures: list[OSError] = []

    def come_upon_it() -> None:
        while not over.is_set():
            try:
                native.channel_create(str(folder))
            except OSError as error:
                failures.append(error)

    threads = [threading.Thread(target=come_upon_it) for _ in range(2)]
    for thread in threads:
        thread.start()
    taken_away = []
    for _ in range(300):
        taken_away.append(Channel.create(folder))
        remove_channel(folder)
    over.set()
    for thread in threads:
        thread.join()
    words = [channel.generation for channel in taken_away]
    for channel in taken_away:
        channel.close()
    assert words == [CLOSED] * len(words)
    assert failures == []


def test_rules_that_went_with_their_channel_are_not_missed(probed: Probed) -> None:
    """An edit was published, and the channel moved out of its place but not closed yet, when the process looks."""
    probed.publish(LAYERS)
    folder = channel_folder(str(probed.config))
    gone = folder.with_name(f"{folder.name}.gone-1")
    with probed.caller() as host:
        assert host.call("IsExecuteCountInRange", 0)
        probed.publish({"dump_enable": False})
        folder.rename(gone)
        assert host.call("IsExecuteCountInRange", 1), "rules stay in force"
        with Channel.attach(folder) as made_by_the_process:
            assert [process.pid for process in made_by_the_process.live_processes()] == [host.pid]
        close_and_remove(gone)
        probed.publish({"dump_enable": False})
        assert not host.call("IsExecuteCountInRange", 2)
        messages = host.end()
    assert messages.count("\n") == 1, messages
    assert "Ready to dump ATB data" in messages
