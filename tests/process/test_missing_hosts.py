"""`status` where a model is missing among the processes: it says why, and what to do."""

from __future__ import annotations

from probed_host import Probed, command
from watching import LAYERS


def told(watched: Probed) -> str:
    return command("status", "--config", str(watched.config)).stdout


def line_of(pid: int, text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith(f"process {pid} ")]
    assert len(lines) == 1, text
    return lines[0]


def test_a_launcher_that_drops_the_preload(watched: Probed) -> None:
    watched.write(LAYERS)
    watched.extra_environment["LD_PRELOAD"] = ""
    with watched.model() as model:
        model.step()
        assert "runs ATB without the probe" in line_of(model.pid, told(watched))


def test_a_launcher_that_drops_the_config(watched: Probed) -> None:
    watched.extra_environment["ATB_DUMP_CONFIG"] = ""
    with watched.model() as model:
        model.step()
        assert "no ATB_DUMP_CONFIG" in line_of(model.pid, told(watched))


def test_a_model_of_another_config(watched: Probed) -> None:
    watched.extra_environment["ATB_DUMP_CONFIG"] = str(watched.folder / "other.json")
    with watched.model() as model:
        model.step()
        assert "another config" in line_of(model.pid, told(watched))


def test_the_probe_of_the_other_abi(watched: Probed) -> None:
    watched.extra_environment["LD_PRELOAD"] = str(watched.native_file("libatb_probe_abi0.so"))
    with watched.model() as model:
        model.step()
        assert "other C++ string ABI" in line_of(model.pid, told(watched))


def test_a_model_that_has_called_nothing_yet(watched: Probed) -> None:
    with watched.caller() as host:
        assert "has not run an operation yet" in line_of(host.pid, told(watched))
        host.call("IsExecuteCountInRange", 0)
        assert f"process {host.pid} " not in told(watched)


def test_a_model_that_is_attached_is_not_missing(watched: Probed) -> None:
    watched.write(LAYERS)
    with watched.model() as model:
        model.step()
        assert f"process {model.pid} " not in told(watched)


def test_no_process_at_all(watched: Probed) -> None:
    assert "no process has loaded the probe and used it yet" in told(watched)
