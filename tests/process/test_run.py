"""`atbprobe-rules run`: one command with the probe, and nothing left of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from probed_host import WAIT_SECONDS, Model, Probed
from watching import CHILDREN, LAYERS, nothing_in, settle, status, wait, wait_for_end

from atbprobe_rules.installation import standin_model
from atbprobe_rules.rollout import Stage

RUN = [sys.executable, "-m", "atbprobe_rules", "run"]


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    ascend = {"ASCEND_HOME_PATH": "/opt/ascend", "ATB_HOME_PATH": "/opt/atb/cxx_abi_1"}
    kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    yield {**kept, **ascend, "ATBPROBE_PYTHON": sys.executable}


def run(environment: dict[str, str], *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *words], env=environment, cwd=cwd, capture_output=True, text=True, timeout=WAIT_SECONDS, check=False
    )


def test_a_model_runs_with_the_probe_and_takes_edits_and_leaves_nothing(
    probed: Probed, environment: dict[str, str], runtime_dir: Path
) -> None:
    probed.write(LAYERS)
    launcher = [*RUN, "--config", str(probed.config), "--output", str(probed.folder), "--"]
    with Model(standin_model(1), environment, [], launcher) as model:
        model.step()
        assert settle(probed) is Stage.ADOPTED
        assert [process["pid"] for process in status(probed)["processes"]] == [model.pid]
        probed.write(CHILDREN)
        assert settle(probed) is Stage.PUBLISHED
        model.step()
        wait(probed)
        watcher = status(probed)["watcher"]["pid"]
    wait_for_end(watcher)
    assert nothing_in(runtime_dir)
    assert any("1_Attention" in path for path in probed.files())


def test_the_exit_code_and_the_output_are_the_commands(tmp_path: Path, environment: dict[str, str]) -> None:
    done = run(environment, "--", "bash", "-c", "echo $ATB_OUTPUT_DIR $ATB_DUMP_CONFIG; exit 7", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, f"{tmp_path} {tmp_path}/config.json\n")


def test_what_to_do_next_is_said_for_a_command_and_not_for_a_shell(
    tmp_path: Path, environment: dict[str, str], runtime_dir: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LAYERS))
    (tmp_path / "config.json").chmod(0o600)
    done = run(environment, "bash", "-c", "env", cwd=tmp_path)
    assert "while the command runs, type in another shell: " in done.stderr
    assert "from this shell" not in done.stderr
    assert "_atbprobe" not in done.stdout


def test_options_behind_the_command_are_the_commands(tmp_path: Path, environment: dict[str, str]) -> None:
    done = run(environment, "echo", "--config", "--output=x", "-h", cwd=tmp_path)
    assert done.stdout == "--config --output=x -h\n"


def test_without_ascend_the_command_runs_without_the_probe(tmp_path: Path, environment: dict[str, str]) -> None:
    del environment["ASCEND_HOME_PATH"]
    done = run(environment, "bash", "-c", "echo [$LD_PRELOAD]", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n")
    assert "ASCEND_HOME_PATH" in done.stderr


@pytest.mark.parametrize("words", [["no-such-program-here"], [], ["--config", "x"]])
def test_a_wrong_call_is_a_usage_error(tmp_path: Path, environment: dict[str, str], words: list[str]) -> None:
    assert run(environment, *words, cwd=tmp_path).returncode == 2
