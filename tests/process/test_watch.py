"""The watcher as users meet it: started by the load script's command, followed by `status` and `wait`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from probed_host import WAIT_SECONDS, Probed, command
from watching import CHILDREN, LAYERS, OFF, nothing_in, settle, start_watcher, status, wait, wait_for_end

from atbprobe_rules.channel import Channel, channel_folder
from atbprobe_rules.rollout import Stage


def test_an_edit_reaches_a_process(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    with watched.model() as model:
        model.step()
        assert "in 1 process" in wait(watched).stdout
        first = status(watched)
        assert (first["generation"], first["rejected"]) == (1, None)
        [process] = first["processes"]
        assert (process["pid"], process["generation"], process["alive"]) == (model.pid, 1, True)
        assert process["ops_seen"] > 0
        assert process["hits"] == {"1": process["ops_selected"]}
        assert process["ops_selected"] > 0
        assert process["lost"] == {}

        watched.write(OFF)
        assert settle(watched) is Stage.PUBLISHED
        late = wait(watched, "--timeout", "0", check=False)
        assert (late.returncode, str(model.pid) in late.stderr) == (1, True), "it has made no call yet"
        model.step()
        assert wait(watched).returncode == 0
        assert status(watched)["processes"][0]["generation"] == 2


def test_a_wrong_config_leaves_the_last_good_rules_in_force(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    with watched.model() as model:
        model.step()
        wait(watched)
        watched.config.write_text('{"dump_enable": true,\n "task": "stats", "idz": "2"}')
        refused = wait(watched, check=False)
        assert refused.returncode == 1
        assert "2:10: error[bad-task]" in refused.stderr
        assert "2:19: error[unknown-key]" in refused.stderr
        now = status(watched)
        assert now["generation"] == 1
        assert [found["code"] for found in now["rejected"]["diagnostics"]] == ["bad-task", "unknown-key"]
        before = len(watched.files())
        model.step()
        assert watched.process(model.pid).generation == 1

        watched.write(LAYERS)
        assert settle(watched) is Stage.ADOPTED
        assert status(watched)["rejected"] is None
        assert status(watched)["generation"] == 1, "the same content needs no new generation"
    assert len(watched.files()) > before


def test_deleting_the_file_turns_dumping_off(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    with watched.model() as model:
        model.step()
        wait(watched)
        dumped = watched.process(model.pid).ops_selected
        watched.config.unlink()
        assert settle(watched) is Stage.PUBLISHED
        model.step()
        assert settle(watched) is Stage.ADOPTED
        assert watched.process(model.pid).ops_selected == dumped
    log = Path(status(watched)["watcher"]["log"]).read_text(encoding="utf-8")
    assert "was deleted: dumping is off" in log


def test_a_file_in_the_middle_of_a_save_is_not_complained_of(watched: Probed) -> None:
    """Empty for less than the quiet time, then valid: one swap, no message, never off in between."""
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    log = Path(status(watched)["watcher"]["log"])
    with watched.config.open("w", encoding="utf-8") as file:
        os.fsync(file.fileno())
        file.write(json.dumps(CHILDREN))
    assert settle(watched) is Stage.ADOPTED
    assert status(watched)["generation"] == 2
    text = log.read_text(encoding="utf-8")
    assert "error" not in text
    assert "deleted" not in text


def test_a_file_that_others_may_write_is_not_read(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    watched.config.write_text(json.dumps(CHILDREN))
    watched.config.chmod(0o664)
    assert settle(watched) is Stage.REJECTED
    [found] = status(watched)["rejected"]["diagnostics"]
    assert found["code"] == "untrusted-file"
    assert "0664" in found["message"]
    assert str(watched.config) in found["message"]
    assert status(watched)["generation"] == 1
    watched.config.chmod(0o600)
    assert settle(watched) is Stage.ADOPTED
    assert status(watched)["generation"] == 2


def test_a_second_start_joins_the_watcher(watched: Probed) -> None:
    pid = status(watched)["watcher"]["pid"]
    for _ in range(3):
        start_watcher(watched.config)
    assert status(watched)["watcher"] == {"pid": pid, "alive": True, "log": status(watched)["watcher"]["log"]}


def test_many_starts_at_once_make_one_watcher(probed: Probed) -> None:
    probed.write(LAYERS)
    start = [sys.executable, "-m", "atbprobe_rules", "watch", "--detach", "--config", str(probed.config)]
    starts = [subprocess.Popen([*start, "--hold", str(os.getpid())], stderr=subprocess.PIPE) for _ in range(4)]
    for process in starts:
        _, told = process.communicate(timeout=WAIT_SECONDS)
        assert process.returncode == 0, told
        assert b"in force as generation 1" in told
    assert status(probed)["generation"] == 1
    command("stop", "--config", str(probed.config))


def test_a_watcher_that_was_killed_is_replaced(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    pid = status(watched)["watcher"]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    assert status(watched)["watcher"]["alive"] is False
    watched.write(CHILDREN)
    start_watcher(watched.config)
    now = status(watched)
    assert now["watcher"]["alive"] is True
    assert now["watcher"]["pid"] != pid
    assert now["generation"] == 2


def test_released_by_its_last_holder_it_ends_and_takes_its_channel_along(probed: Probed, runtime_dir: Path) -> None:
    start_watcher(probed.config)
    pid = status(probed)["watcher"]["pid"]
    done = command("watch", "--release", str(os.getpid()), "--config", str(probed.config))
    assert done.stderr == ""
    assert not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()
    assert nothing_in(runtime_dir)


def test_released_it_stays_for_a_process_that_runs(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    with watched.model() as model:
        model.step()
        done = command("watch", "--release", str(os.getpid()), "--config", str(watched.config))
        assert "stays for 1 process with the probe loaded" in done.stderr
        watched.write(OFF)
        assert settle(watched) is Stage.PUBLISHED, "another shell's edit is still followed"
        model.step()
        wait(watched)


def test_no_process_is_said(watched: Probed) -> None:
    watched.write(LAYERS)
    assert "no process has the probe loaded" in wait(watched).stdout


def test_nothing_watched_is_said(probed: Probed) -> None:
    assert command("status", "--config", str(probed.config), check=False).returncode == 1
    assert command("wait", "--config", str(probed.config), check=False).returncode == 1
    assert command("status", check=False).returncode == 2
    assert "nothing watches" in command("stop", "--config", str(probed.config)).stdout


def test_the_only_watched_config_is_the_default(watched: Probed) -> None:
    assert json.loads(command("status", "--json").stdout)["config"] == str(watched.config)


def test_status_has_the_documented_keys(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    with watched.model() as model:
        model.step()
        wait(watched)
        answer = status(watched)
        table = command("status", "--config", str(watched.config)).stdout
    assert list(answer) == [
        "config",
        "channel",
        "generation",
        "rules_hash",
        "taken_at",
        "watcher",
        "rejected",
        "processes",
    ]
    assert answer["taken_at"].endswith("Z")
    assert list(answer["processes"][0]) == [
        "pid",
        "device",
        "alive",
        "generation",
        "ops_seen",
        "ops_selected",
        "tensors_saved",
        "bytes_saved",
        "bytes_queued",
        "lost",
        "hits",
    ]
    assert str(model.pid) in table
    assert "gen. 1" in table


def test_a_relative_path_is_meant_as_the_shell_writes_its_folder(
    probed: Probed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Channels go by the path as written, so a folder that was entered through a link stays that."""
    real = probed.folder / "real"
    real.mkdir()
    entered = probed.folder / "entered"
    entered.symlink_to(real)
    start_watcher(entered / "config.json")
    monkeypatch.chdir(entered)
    monkeypatch.setenv("PWD", str(entered))
    assert json.loads(command("status", "--json", "--config", "config.json").stdout)["watcher"]["alive"]
    command("stop", "--config", "config.json")


def test_a_damaged_channel_is_named_and_hides_no_other(watched: Probed, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    with Channel.create(channel_folder(str(other))):
        pass
    with (channel_folder(str(other)) / "control").open("r+b") as control:
        control.write(b"XX")
    for words in (["status"], ["wait"], ["stop"], ["watch", "--release", "1"]):
        done = command(*words, "--config", str(other), check=False)
        assert done.returncode == 1
        assert "damaged or of another version" in done.stderr
    assert json.loads(command("status", "--json").stdout)["config"] == str(watched.config)


def test_what_a_killed_watcher_leaves_is_taken_away_by_the_next_command(probed: Probed, runtime_dir: Path) -> None:
    start_watcher(probed.config)
    pid = status(probed)["watcher"]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    assert list(runtime_dir.iterdir())
    command("stop", "--config", str(probed.config))
    assert nothing_in(runtime_dir)
