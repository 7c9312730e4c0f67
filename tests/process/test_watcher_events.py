"""What a watcher hears of. Its look once a second is taken away here, so that what is not heard is never found."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fuse_file
import pytest
from config_edits import EDITS, Edit, truncate_and_write, write_beside_and_rename
from probed_host import WAIT_SECONDS, Probed
from watching import CHILDREN, LAYERS, OFF, settle, status

from atbprobe_rules import Watcher, publisher, watch
from atbprobe_rules.channel import Channel, channel_folder
from atbprobe_rules.config_file import NO_FILE_HASH
from atbprobe_rules.rollout import Stage, look, wait_for

NEVER = 1e6
# Runs the command line with the look once a second taken away.
LISTEN_ONLY = f"""
import atbprobe_rules.watch
atbprobe_rules.watch.LOOK_SECONDS = {NEVER}
from atbprobe_rules.cli.main import main
main()
"""


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_SECONDS", NEVER)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def heard(listening: None, probed: Probed, said: list[str]) -> Iterator[Probed]:
    """A config with rules in force and a watcher in this process that only listens."""
    probed.write(LAYERS)
    with Watcher(probed.config, said.append):
        yield probed


def generation(config: Path) -> int:
    with Channel.attach(channel_folder(str(config))) as channel:
        return channel.generation


def settle_now(probed: Probed) -> Stage:
    with Channel.attach(channel_folder(str(probed.config))) as channel:
        return look(channel, probed.config).stage


def wait_until_off(config: Path) -> None:
    with Channel.attach(channel_folder(str(config))) as channel:
        found = wait_for(channel, config, lambda look: look.stage is Stage.ADOPTED, WAIT_SECONDS)
    assert found.published is not None
    assert found.published.config_hash == NO_FILE_HASH.hex()


@pytest.mark.parametrize("edit", EDITS)
def test_every_way_to_edit_is_heard(heard: Probed, edit: Edit) -> None:
    for rules in (CHILDREN, OFF, LAYERS):
        before = generation(heard.config)
        edit(heard.config, json.dumps(rules))
        assert settle(heard) is Stage.ADOPTED
        assert generation(heard.config) > before


def test_a_hundred_edits_at_once_end_with_the_last(
    heard: Probed, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_force: list[bytes] = []
    real_encode = publisher.encode

    def encode(program: publisher.Program) -> bytes:
        in_force.append(program.config_hash)
        return real_encode(program)

    monkeypatch.setattr(publisher, "encode", encode)
    texts = [json.dumps({**LAYERS, "ids": f"{number}"}) for number in range(100)]
    for number, text in enumerate(texts):
        (truncate_and_write if number % 2 else write_beside_and_rename)(heard.config, text)
    assert settle(heard) is Stage.ADOPTED
    written = [publisher.Reading(text.encode()).content_hash for text in texts]
    assert in_force[-1] == written[-1]
    places = [written.index(content_hash) for content_hash in in_force]
    assert places == sorted(places), "none comes back after a later one, and none is half of one"
    assert all("in force as generation" in line for line in said), "nobody hears of the halves"


def test_a_wrong_file_is_reported_once_whatever_happens_to_it(heard: Probed, said: list[str]) -> None:
    said.clear()
    for text in ('{"dump_enable": tru', '{"dump_enable": 1}'):
        for _ in range(3):
            truncate_and_write(heard.config, text)
            assert settle(heard) is Stage.REJECTED
            heard.config.touch()
    heard.write(CHILDREN)
    assert settle(heard) is Stage.ADOPTED
    refusals = [line for line in said if "refused" in line]
    assert len(refusals) == 2
    assert "error[bad-json]" in refusals[0] or "error" in refusals[0]
    assert "wrong-type" in refusals[1]


@pytest.mark.parametrize("levels", [1, 2])
def test_a_folder_that_is_moved_away_and_back(listening: None, tmp_path: Path, levels: int) -> None:
    """With the file in it, or with the folder that holds the file."""
    folder = tmp_path / "upper" / "lower"
    folder.mkdir(parents=True)
    config = folder / "config.json"
    write_beside_and_rename(config, json.dumps(LAYERS))
    moved = folder if levels == 1 else folder.parent
    with Watcher(config):
        for rules in (CHILDREN, LAYERS):
            moved.rename(tmp_path / "away")
            wait_until_off(config)
            (tmp_path / "away").rename(moved)
            write_beside_and_rename(config, json.dumps(rules))
            with Channel.attach(channel_folder(str(config))) as channel:
                found = wait_for(channel, config, lambda look: look.stage is Stage.ADOPTED, WAIT_SECONDS)
            assert found.stage is Stage.ADOPTED


def test_a_file_and_folders_that_come_later_are_heard_of(listening: None, tmp_path: Path) -> None:
    folder = tmp_path / "later" / "still"
    config = folder / "config.json"
    with Watcher(config), Channel.attach(channel_folder(str(config))) as channel:
        for rules in (LAYERS, CHILDREN):
            folder.mkdir(parents=True)
            write_beside_and_rename(config, json.dumps(rules))
            found = wait_for(channel, config, lambda look: look.stage is Stage.ADOPTED, WAIT_SECONDS)
            assert found.stage is Stage.ADOPTED
            config.unlink()
            folder.rmdir()
            folder.parent.rmdir()
            wait_until_off(config)


def test_a_file_that_is_empty_for_a_while_is_one_swap_without_a_word(
    listening: None, probed: Probed, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quiet time is made endless: what counts is that the watcher saw the empty file, and then the whole one."""
    looks: queue.Queue[bytes | None] = queue.Queue()
    real_read = publisher.read_config_file

    def read(path: Path) -> publisher.Reading:
        reading = real_read(path)
        looks.put(reading.data)
        return reading

    probed.write(LAYERS)
    with Watcher(probed.config, said.append):
        monkeypatch.setattr(publisher, "QUIET_SECONDS", NEVER)
        monkeypatch.setattr(publisher, "read_config_file", read)
        with probed.config.open("w", encoding="utf-8") as file:
            while looks.get(timeout=WAIT_SECONDS) != b"":
                pass
            assert settle_now(probed) is Stage.NOT_PUBLISHED
            assert generation(probed.config) == 1, "the rules of before are in force"
            file.write(json.dumps(CHILDREN))
        assert settle(probed) is Stage.ADOPTED
    assert said == [f"{probed.config}: in force as generation {number}" for number in (1, 2)]


@pytest.mark.parametrize("operations", [1, 100, 20_000])
def test_the_first_operation_after_an_edit_is_decided_by_it(heard: Probed, operations: int) -> None:
    heard.write(OFF)
    assert settle(heard) is Stage.ADOPTED
    with heard.caller() as host:
        dir_of_op = f"0_{host.pid}/0/0_Op"
        questions = [(0, "UpdateConfig", ()), (0, "IsExecuteCountInRange", (0,))]
        assert not any(host.call_all([(0, "IsTensorNeedSave", ()), *questions * operations])[2::2])
        heard.write(LAYERS)
        assert settle(heard) is Stage.PUBLISHED
        assert host.call_all([*questions, (0, "IsSaveTensorInSpecificDir", (dir_of_op,))]) == [None, True, True]


def test_the_time_of_a_file_says_nothing(heard: Probed) -> None:
    """Nor does its size: a clock that was set back, or an editor that keeps the time, hides no edit."""
    text = json.dumps({**LAYERS, "ids": "1"})
    write_beside_and_rename(heard.config, text)
    assert settle(heard) is Stage.ADOPTED
    an_hour_before = heard.config.stat().st_mtime - 3600
    truncate_and_write(heard.config, text.replace('"1"', '"2"'))
    os.utime(heard.config, (an_hour_before, an_hour_before))
    assert settle(heard) is Stage.ADOPTED
    assert generation(heard.config) == 3


def test_other_files_of_the_folder_are_no_reason_to_look(heard: Probed, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Path] = []
    real_read = publisher.read_config_file

    def read(path: Path) -> publisher.Reading:
        looks.append(path)
        return real_read(path)

    monkeypatch.setattr(publisher, "read_config_file", read)
    for number in range(50):
        other = heard.folder / f"other{number}.json"
        other.write_text("{}")
        other.rename(heard.folder / "other.json")
    assert looks == []
    heard.write(CHILDREN)
    assert settle(heard) is Stage.ADOPTED
    assert looks


def foreground(config: Path, *launcher: str, script: str = LISTEN_ONLY) -> subprocess.Popen[str]:
    arguments = [*launcher, sys.executable, "-c", script, "watch", "--config", str(config)]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


def end(watcher: subprocess.Popen[str]) -> None:
    watcher.send_signal(signal.SIGINT)
    rest = watcher.communicate(timeout=WAIT_SECONDS)[1]
    assert watcher.returncode == 130
    assert "is not watched any more" in rest


def read_until(watcher: subprocess.Popen[str], words: str) -> str:
    assert watcher.stderr is not None
    for line in watcher.stderr:
        if words in line:
            return line
    raise AssertionError(f"the watcher ended without a word of {words!r}")


def may_unshare(*options: str) -> bool:
    return subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0


def test_a_single_file_that_is_mounted_and_edited_from_outside_is_heard_of(probed: Probed) -> None:
    if not may_unshare("-rm"):
        pytest.skip("no mount namespace may be made here")
    outside = probed.folder / "outside.json"
    truncate_and_write(outside, json.dumps(LAYERS))
    outside.chmod(0o600)
    probed.config.touch(mode=0o600)
    mount = f'mount --bind "{outside}" "{probed.config}" && exec "$@"'
    with foreground(probed.config, "unshare", "-rm", "sh", "-c", mount, "sh") as watcher:
        read_until(watcher, "in force as generation 1")
        assert probed.config.read_text() == "", "out here nothing is mounted"
        for number, rules in enumerate((CHILDREN, OFF), 2):
            truncate_and_write(outside, json.dumps(rules))
            read_until(watcher, f"in force as generation {number}")
        end(watcher)


@pytest.mark.parametrize(
    ("limit", "reason"), [("max_inotify_instances", "no inotify instance"), ("max_inotify_watches", "no inotify watch")]
)
def test_where_inotify_cannot_be_had_the_file_is_polled(probed: Probed, limit: str, reason: str) -> None:
    if not may_unshare("-Ur"):
        pytest.skip("no user namespace may be made here")
    lower = f'echo 0 > /proc/sys/user/{limit} && exec "$@"'
    with foreground(probed.config, "unshare", "-Ur", "sh", "-c", lower, "sh") as watcher:
        line = read_until(watcher, "polled every")
        assert reason in line
        for number, rules in enumerate((LAYERS, CHILDREN), 1):
            probed.write(rules)
            read_until(watcher, f"in force as generation {number}")
        end(watcher)


def test_a_file_of_root_is_taken_by_a_user_and_one_of_another_user_by_nobody(probed: Probed) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to somebody else")
    probed.write(LAYERS)
    with Watcher(probed.config):
        os.chown(probed.config, 65533, 65533)
        truncate_and_write(probed.config, json.dumps(CHILDREN))
        assert settle(probed) is Stage.REJECTED
        [found] = status(probed)["rejected"]["diagnostics"]
        assert found["code"] == "untrusted-file"
        assert all(word in found["message"] for word in (str(probed.config), "65533", "0600"))
        assert status(probed)["generation"] == 1
        os.chown(probed.config, 0, 0)
        assert settle(probed) is Stage.ADOPTED
        assert status(probed)["generation"] == 2


READ = """
import sys
from pathlib import Path
from atbprobe_rules.config_file import read_config_file
reading = read_config_file(Path("config.json"))
print(reading.data, reading.fault)
"""


@pytest.mark.parametrize(("owner", "is_read"), [(0, True), (65533, False)])
def test_a_user_reads_what_is_his_or_roots(probed: Probed, owner: int, is_read: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    probed.config.write_text("{}")
    probed.config.chmod(0o644)
    probed.folder.chmod(0o711)
    os.chown(probed.config, owner, owner)
    # The working directory is entered before the user changes: the folders above are closed to others.
    become = "import os, sys; os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)\n"
    imports = "from atbprobe_rules import config_file\n"
    done = subprocess.run(
        [sys.executable, "-c", imports + become + READ],
        cwd=probed.folder,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert (done.stdout.startswith("b'{}' None")) is is_read
    assert ("belongs to user 65533" in done.stdout) is not is_read


def test_an_edit_on_a_file_server_is_found_by_polling(probed: Probed) -> None:
    """On FUSE, where the server changes the file and the kernel here hears nothing."""
    point = probed.folder / "mounted"
    point.mkdir()
    served = probed.folder / "served.json"
    write_beside_and_rename(served, json.dumps(LAYERS))
    server = [sys.executable, fuse_file.__file__, str(point), str(served)]
    launcher = ["unshare", "-m", *server]
    if subprocess.run([*launcher, "/bin/true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no FUSE file system may be mounted here")
    with foreground(point / fuse_file.NAME.decode(), *launcher) as watcher:
        assert f"on {fuse_file.TYPE}, where edits of others make no event: polled" in read_until(watcher, "polled")
        read_until(watcher, "in force as generation 1")
        for number, rules in enumerate((CHILDREN, OFF), 2):
            write_beside_and_rename(served, json.dumps(rules))
            read_until(watcher, f"in force as generation {number}")
        end(watcher)
