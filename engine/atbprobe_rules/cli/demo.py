"""``atbprobe-rules demo``: the whole way on one screen, on the stand-in host."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from atbprobe_rules.cli.demo_comparison import compare_two_runs
from atbprobe_rules.cli.demo_shell import DemoShell, end_as_interrupted_on
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.errors import AtbprobeError

DEVICES = (0, 1)
ATTACH_SECONDS = 10.0
ADOPT_SECONDS = 10.0
STEPS_DUMPED = 2
_ROWS_SHOWN = 4
_TENSORS_SHOWN = 12

FIRST_RULES = {"dump_enable": True, "task": "all", "exec_range": "all", "ids": "0"}
SECOND_RULES = {
    "dump_enable": True,
    "task": "all",
    "exec_range": "all",
    "op_name": "attention",
    "save_child": True,
}
NO_RULES = {"dump_enable": False}


@click.command("demo")
@click.option(
    "--keep",
    "kept",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Work in DIR and leave everything there; default: a temporary folder, removed at the end.",
)
def command(kept: Path | None) -> ExitCode:
    """Dump tensors from a small model on the CPU, changing the rules while it runs.

    A decoder decodes on two "devices", one process each, behind a stand-in for ATB that calls the probe exactly as
    the real library does. At the end, two dumps are compared to find a faulty operation.
    """
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        return _demo(kept.resolve())
    with tempfile.TemporaryDirectory(prefix="atbprobe-demo-") as folder:
        return _demo(Path(folder).resolve())


def _demo(folder: Path) -> ExitCode:
    from atbprobe_rules.installation import script_folder, standin_model

    config = folder / "config.json"
    config.unlink(missing_ok=True)
    quoted_scripts = shlex.quote(str(script_folder()))
    end_as_interrupted_on(signal.SIGTERM, signal.SIGHUP)
    with DemoShell(_environment(folder), str(folder)) as shell:
        _chapter("1. Load the probe into a shell. The config may be written later.")
        shell.type(f"source {quoted_scripts}/load_atb_probe.sh --output=$PWD --config=$PWD/config.json")
        _chapter("2. Start the model: two devices, a process each, decoding without end.")
        shell.ask(f"model={shlex.quote(str(standin_model(1)))}")
        for device in DEVICES:
            shell.type(f"$model --device {device} --forever --interval-ms 20 >device{device}.log 2>&1 &")
        pids = [int(pid) for pid in shell.ask("jobs -p")]
        _wait_for_processes(config, pids)
        _chapter("3. Write the rules while it runs: op 0, the word embedding, in every round.")
        _write_rules(config, FIRST_RULES, pids)
        _let_run(config, pids)
        _chapter("4. Look elsewhere: every op called attention..., with all that runs inside of it.")
        _write_rules(config, SECOND_RULES, pids)
        _let_run(config, pids)
        _chapter("5. And off. The model has never been stopped.")
        _write_rules(config, NO_RULES, pids)
        shell.type("atbprobe-rules status")
        _chapter("6. Stop the model and unload the probe.")
        shell.type("kill $(jobs -p); wait")
        shell.type(f"source {quoted_scripts}/unload_atb_probe.sh")
        _chapter("What is there now, in the first and the last rounds of device 0:")
        _show_dump(folder / "atb_dump_data" / "data", pids[0])
        _chapter("7. Dumps are there to be compared. One run as it should be, and one with a fault in one operation:")
        compare_two_runs(shell, folder)
    return ExitCode.FINE


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a machine with Ascend's software, as far as the scripts look at it."""
    environment = {
        **os.environ,
        "ASCEND_HOME_PATH": "/usr/local/Ascend",
        "ATB_HOME_PATH": "/usr/local/Ascend/nnal/atb/cxx_abi_1",
        "ATBPROBE_PYTHON": sys.executable,
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
    }
    for name in ("LD_PRELOAD", "ATB_OUTPUT_DIR", "ATB_DUMP_CONFIG", "ATB_AIT_LOG_LEVEL"):
        environment.pop(name, None)
    environment["PWD"] = str(folder)
    return environment


def _chapter(title: str) -> None:
    click.echo()
    click.secho(title, fg="cyan", bold=True)


def _wait_for_processes(config: Path, pids: list[int]) -> None:
    from atbprobe_rules.channel import Channel, channel_folder

    with Channel.attach(channel_folder(str(config))) as channel:
        _wait_until(
            lambda: {process.pid for process in channel.live_processes()} >= set(pids),
            ATTACH_SECONDS,
            "the model's processes did not load the probe",
        )
    for device, pid in zip(DEVICES, pids, strict=True):
        click.echo(f"    device {device}: process {pid} decodes and has the probe loaded")


def _write_rules(config: Path, rules: dict[str, Any], pids: list[int]) -> None:
    """Write a config and say when each process had it."""
    from atbprobe_rules.channel import Channel, channel_folder

    click.secho(f"  $ echo '{json.dumps(rules)}' > config.json", bold=True)
    with Channel.attach(channel_folder(str(config))) as channel:
        generation = channel.generation
        temporary = config.with_suffix(".new")
        temporary.write_text(json.dumps(rules) + "\n", encoding="utf-8")
        temporary.chmod(0o600)
        start = time.perf_counter()
        temporary.replace(config)
        taken: dict[int, float] = {}

        def all_have_it() -> bool:
            for process in channel.live_processes():
                if process.generation > generation:
                    taken.setdefault(process.pid, time.perf_counter() - start)
            return taken.keys() >= set(pids)

        _wait_until(all_have_it, ADOPT_SECONDS, "the new rules were not taken: see `atbprobe-rules status`")
    for device, pid in zip(DEVICES, pids, strict=True):
        click.echo(f"    device {device}: new rules taken {taken[pid] * 1000:.1f} ms after the file was written")


def _let_run(config: Path, pids: list[int]) -> None:
    """Wait until each process has dumped something under the rules in force and gone on for a while."""
    from atbprobe_rules.channel import Channel, channel_folder

    with Channel.attach(channel_folder(str(config))) as channel:

        def counts() -> dict[int, tuple[int, int]]:
            return {p.pid: (p.ops_selected, p.tensors_saved) for p in channel.live_processes()}

        before = counts()

        def all_have_dumped() -> bool:
            now = counts()
            return all(
                now[pid][0] - before[pid][0] >= STEPS_DUMPED and now[pid][1] > before[pid][1]
                for pid in pids
                if pid in now
            )

        _wait_until(all_have_dumped, ADOPT_SECONDS, "nothing was dumped under the new rules")
        for device, pid in zip(DEVICES, pids, strict=True):
            click.echo(f"    device {device}: {counts()[pid][1] - before[pid][1]} more tensors on disk already")


def _wait_until(condition: Callable[[], bool], seconds: float, failure: str) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise AtbprobeError(failure)
        time.sleep(0.0005)


def _show_dump(data: Path, pid: int) -> None:
    process = data / f"0_{pid}"
    rounds = sorted((folder for folder in process.iterdir() if folder.name.isdecimal()), key=lambda f: int(f.name))
    for shown in (rounds[0], rounds[-1]):
        tensors = sorted(shown.rglob("*.bin"))
        click.echo(f"  {shown.relative_to(data.parent.parent)}/   {len(tensors)} tensors")
        for tensor in tensors[:_TENSORS_SHOWN]:
            click.echo(f"    {tensor.stat().st_size:>8,} bytes  {tensor.relative_to(shown)}")
        if len(tensors) > _TENSORS_SHOWN:
            click.echo(f"    {'...':>14}  and {len(tensors) - _TENSORS_SHOWN} more")
    csv = rounds[-1] / "statistic.csv"
    click.echo(f"\n  {csv.relative_to(data.parent.parent)}")
    for line in csv.read_text(encoding="utf-8").splitlines()[: 1 + _ROWS_SHOWN]:
        click.echo(f"    {line}")
    size = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
    click.echo(f"\n  {len(rounds)} rounds dumped by device 0; {size:,} bytes by both devices")
