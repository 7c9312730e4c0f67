"""How long a watcher lives, what brings it back, and that nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bash_session import ASCEND_ENVIRONMENT, PLAIN_ENVIRONMENT, Installation
from probed_host import WAIT_SECONDS, Probed, command, wait_until
from watching import CHILDREN, LAYERS, OFF, nothing_in, settle, start_watcher, status, wait, wait_for_end

from atbprobe_rules import bounded_log
from atbprobe_rules.rollout import Stage


def kill_watcher(probed: Probed) -> int:
    pid: int = status(probed)["watcher"]["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    return pid


def test_wait_brings_a_dead_watcher_back_for_those_who_held_it(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    dead = kill_watcher(watched)
    watched.write(OFF)
    done = wait(watched)
    assert f"(process {dead}) had died: it was started again" in done.stderr
    assert "generation 2 is in force" in done.stdout
    now = status(watched)
    assert now["watcher"]["alive"] is True
    assert "had died" not in wait(watched).stderr
    released = command("watch", "--release", str(os.getpid()), "--config", str(watched.config))
    assert released.stderr == "", "the hold of this process was the only one"
    wait_for_end(now["watcher"]["pid"])


def test_wait_brings_no_watcher_back_that_was_stopped(watched: Probed) -> None:
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    with watched.model() as model:
        model.step()
        command("stop", "--config", str(watched.config))
        watched.write(OFF)
        done = wait(watched, "--timeout", "1000", check=False)
        assert (done.returncode, "nothing watches" in done.stderr) == (1, True)
        assert f"atbprobe-rules watch --detach --config {watched.config}" in done.stderr
        assert status(watched)["watcher"] is None


def test_wait_brings_no_watcher_back_that_nobody_needs(probed: Probed, runtime_dir: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as holder:
        start_watcher(probed.config, holder.pid)
        kill_watcher(probed)
    done = wait(probed, "--timeout", "1000", check=False)
    assert done.returncode == 1
    assert "had died" not in done.stderr
    command("stop", "--config", str(probed.config))
    assert nothing_in(runtime_dir)


def test_status_says_how_a_dead_watcher_is_brought_back(watched: Probed) -> None:
    dead = kill_watcher(watched)
    told = command("status", "--config", str(watched.config)).stdout
    restart = f"atbprobe-rules watch --detach --config {watched.config}"
    assert f"process {dead} has died" in told
    assert restart in told
    config_of_shell = {**os.environ, "ATB_DUMP_CONFIG": str(watched.config)}
    watched.write(LAYERS)
    explain = [sys.executable, "-m", "atbprobe_rules", "explain", "--program"]
    explained = subprocess.run(explain, env=config_of_shell, capture_output=True, text=True, check=True)
    assert f"(process {dead}) has died, edits are not seen: `{restart}`" in explained.stderr
    command(*restart.split()[1:])
    assert status(watched)["watcher"]["alive"] is True


def test_a_hangup_passes_by_the_watcher(watched: Probed) -> None:
    pid = status(watched)["watcher"]["pid"]
    assert os.getsid(pid) == pid, "no terminal of anybody's is its own"
    os.kill(pid, signal.SIGHUP)
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    assert status(watched)["watcher"]["pid"] == pid


def test_it_stays_for_a_process_after_its_shell_and_goes_with_the_process(probed: Probed, runtime_dir: Path) -> None:
    probed.write(LAYERS)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as shell:
        start_watcher(probed.config, shell.pid)
        model = probed.model()
        with model:
            model.step()
            shell.communicate()
            for rules in (OFF, LAYERS):
                probed.write(rules)
                assert settle(probed) is Stage.PUBLISHED
                model.step()
                wait(probed)
            pid = status(probed)["watcher"]["pid"]
    wait_for_end(pid)
    assert nothing_in(runtime_dir)


# Starts the model that it is given and ends; the model goes on with the pipes of who started this shell.
LAUNCH = """
source "$LOAD" --output="$OUT" --config="$CONFIG" 2>"$OUT/said"
"$MODEL" --control --quiet </dev/fd/3 3<&- &
cat "$OUT/go"
FAREWELL 2>>"$OUT/said"
"""


@pytest.mark.parametrize("farewell", [":", 'source "$UNLOAD"'])
def test_a_shell_goes_and_another_one_edits_while_the_model_runs(
    installation: Installation, probed: Probed, runtime_dir: Path, farewell: str
) -> None:
    """The first shell ends, or unloads and ends; the second one's commands work, and its edits are followed."""
    probed.write(LAYERS)
    model_program = probed.native_file(f"standin_model_abi{probed.abi}")
    variables = {
        **PLAIN_ENVIRONMENT,
        **ASCEND_ENVIRONMENT,
        "ATBPROBE_RUNTIME_DIR": str(runtime_dir),
        "ATBPROBE_PYTHON": sys.executable,
        "LOAD": str(installation.load),
        "UNLOAD": str(installation.unload),
        "CONFIG": str(probed.config),
        "OUT": str(probed.folder),
        "MODEL": str(model_program),
    }
    go = probed.folder / "go"
    os.mkfifo(go)
    launch = "exec 3<&0; " + LAUNCH.replace("FAREWELL", farewell)
    shell = subprocess.Popen(
        ["bash", "-c", launch], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert shell.stdin is not None
    assert shell.stdout is not None

    def step() -> None:
        shell.stdin.write("step 1\n")
        shell.stdin.flush()
        assert shell.stdout.readline().startswith("done ")

    pid = int(shell.stdout.readline().removeprefix("ready "))
    step()
    go.write_text("")
    os.waitid(os.P_PID, shell.pid, os.WEXITED | os.WNOWAIT)
    assert [process["pid"] for process in status(probed)["processes"]] == [pid]
    if farewell != ":":
        assert "stays for 1 process with the probe loaded" in (probed.folder / "said").read_text()
    for number, rules in enumerate((OFF, CHILDREN), 2):
        probed.write(rules)
        assert settle(probed) is Stage.PUBLISHED
        step()
        answer = installation.bash(
            '"$ATBPROBE_PYTHON" -m atbprobe_rules wait --config "$CONFIG"', environment=variables
        )
        assert f"generation {number} is in force in 1 process" in answer.stdout, answer.stderr
    watcher = status(probed)["watcher"]["pid"]
    shell.communicate(timeout=WAIT_SECONDS)
    wait_for_end(watcher)
    assert nothing_in(runtime_dir)


def test_a_flood_of_refusals_leaves_a_bounded_log(watched: Probed) -> None:
    """A hundred thousand reports as long as that of a refused file, to the log of a watcher that goes on using it."""
    watched.config.write_text('{"task": "stats", "idz": "2"}')
    watched.config.chmod(0o600)
    assert settle(watched) is Stage.REJECTED
    log = Path(status(watched)["watcher"]["log"])
    report = log.read_text(encoding="utf-8")
    assert report.count("error[") == 2
    descriptor = bounded_log.open_log(log)
    flood = bounded_log.BoundedLog(descriptor)
    for _ in range(100_000):
        flood.write(report)
    os.close(descriptor)
    assert bounded_log.LIMIT // 4 < log.stat().st_size <= bounded_log.LIMIT
    watched.write(LAYERS)
    assert settle(watched) is Stage.ADOPTED
    # The rules are there before the watcher says so.
    wait_until(lambda: "in force as generation 1" in log.read_text(encoding="utf-8").splitlines()[-1])
    assert log.stat().st_size <= bounded_log.LIMIT
