"""``atbprobe-rules wait``: until an edit has been taken everywhere, or until everything is on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from atbprobe_rules.cli.config_option import config_option, resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.timeout_option import timeout_option
from atbprobe_rules.cli.words import counted, restart_command

if TYPE_CHECKING:
    from atbprobe_rules.rollout import Rollout


@click.command("wait")
@config_option
@click.option("--adopted", is_flag=True, help="Until every process has taken the config as it is now (the default).")
@click.option("--drained", is_flag=True, help="Until no selected op is under way and nothing waits to be written.")
@timeout_option("Give up after so long, with exit code 1.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a sentence.")
def command(config: Path | None, adopted: bool, drained: bool, seconds: float, as_json: bool) -> ExitCode:
    """Wait until the config file, as it is now, is in force in every process that has the probe loaded.

    With --drained, wait until the dump is complete as far as it goes: turn dumping off, or let the rounds pass, then
    wait. With --adopted and --drained, both must hold.

    A watcher that has died while somebody needs it is started again first.

    \b
    Exit codes: 0 it is so (or no process has the probe loaded); 1 the config was refused, by the watcher or by a
    process, or the time is up; 3 with --drained: it is so, and something was lost on the way.
    """
    from atbprobe_rules.channel import Channel, channel_folder
    from atbprobe_rules.rollout import Stage, wait_for
    from atbprobe_rules.watcher_start import revive

    adopted = adopted or not drained

    def is_enough(look: Rollout) -> bool:
        if adopted and look.is_final and look.stage is not Stage.ADOPTED:
            return True
        return (look.is_final or not adopted) and not (drained and look.unfinished)

    path = resolve_config(config)
    dead = revive(path)
    if dead is not None:
        click.echo(f"the watcher of {path} (process {dead.pid}) had died: it was started again", err=True)
    try:
        channel = Channel.attach(channel_folder(str(path)))
    except FileNotFoundError:
        click.echo(f"nothing watches {path}: source load_atb_probe.sh first", err=True)
        return ExitCode.NO
    with channel:
        rollout = wait_for(channel, path, is_enough, seconds)
    if as_json:
        click.echo(json.dumps(_to_json(rollout, path)))
    is_adopted = not adopted or _tell_adoption(rollout, path, seconds, as_json)
    is_drained = not drained or _tell_draining(rollout, seconds, as_json)
    if not (is_adopted and is_drained):
        return ExitCode.NO
    return ExitCode.INCOMPLETE if drained and rollout.losing else ExitCode.FINE


def _to_json(rollout: Rollout, path: Path) -> dict[str, Any]:
    from atbprobe_rules.status import rejection_to_json

    return {
        "config": str(path),
        "stage": rollout.stage.value,
        "generation": None if rollout.published is None else rollout.published.generation,
        "processes": len(rollout.live),
        "waiting": [process.pid for process in rollout.waiting],
        "refusing": [process.pid for process in rollout.refusing],
        "rejected": rejection_to_json(rollout.rejection),
        "unfinished": [process.pid for process in rollout.unfinished],
        "losing": [process.pid for process in rollout.losing],
    }


def _tell_adoption(rollout: Rollout, path: Path, seconds: float, as_json: bool) -> bool:
    """Say how far the rules have come; true if they are in force everywhere."""
    from atbprobe_rules.cli.rollout_text import describe_rejection
    from atbprobe_rules.rollout import Stage

    generation = None if rollout.published is None else rollout.published.generation
    if rollout.stage is Stage.ADOPTED:
        if not as_json:
            click.echo(_adopted(generation, len(rollout.live)))
        return True
    if rollout.stage is Stage.NO_FILE:
        click.echo(f"{path}: no such file", err=True)
    elif rollout.stage is Stage.REJECTED and rollout.rejection is not None:
        click.echo(describe_rejection(rollout.rejection), err=True)
    elif rollout.stage is Stage.NOT_PUBLISHED and not rollout.watched:
        click.echo(f"nothing watches {path} any more: `{restart_command(path)}` changes that", err=True)
    elif rollout.stage is Stage.NOT_PUBLISHED:
        click.echo(f"{path}: not published within {seconds:g} s: see `atbprobe-rules status`", err=True)
    else:
        for process in rollout.refusing:
            click.echo(f"process {process.pid} refused generation {generation}: {process.verdict}", err=True)
        if rollout.waiting:
            listed = ", ".join(str(process.pid) for process in rollout.waiting)
            click.echo(f"generation {generation} not taken within {seconds:g} s by process {listed}", err=True)
    return False


def _adopted(generation: int | None, processes: int) -> str:
    if processes == 0:
        return f"generation {generation} is in force; no process has the probe loaded"
    return f"generation {generation} is in force in {counted(processes, 'process')}"


def _tell_draining(rollout: Rollout, seconds: float, as_json: bool) -> bool:
    """Say what is not on disk; true if everything is, but for what was lost."""
    for process in rollout.losing:
        reasons = [f"{count:,} {reason}" for reason, count in process.lost.items()]
        if not process.alive and process.bytes_queued > 0:
            reasons.append(f"{process.bytes_queued:,} bytes that were queued when it ended")
        if not process.alive and process.ops_open > 0:
            reasons.append(f"the rest of {counted(process.ops_open, 'op')} that it was in the middle of")
        click.echo(f"process {process.pid} has lost {', '.join(reasons)}", err=True)
    for process in rollout.unfinished:
        left = f"{counted(process.ops_open, 'op')} under way, {process.bytes_queued:,} bytes queued"
        click.echo(f"process {process.pid} was not through within {seconds:g} s: {left}", err=True)
    if rollout.unfinished:
        return False
    if not as_json:
        saved = sum(process.tensors_saved for process in rollout.live)
        click.echo(f"nothing is under way; {counted(saved, 'tensor')} saved by {counted(len(rollout.live), 'process')}")
    return True
