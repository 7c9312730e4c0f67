"""``atbprobe-rules wait``: until an edit has been taken everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import click

from atbprobe_rules.cli.config_option import config_option, resolve_config
from atbprobe_rules.cli.exit_codes import ExitCode
from atbprobe_rules.cli.words import counted

DEFAULT_SECONDS = 30.0


@click.command("wait")
@config_option
@click.option("--adopted", is_flag=True, help="Until every process has taken the config as it is now (the default).")
@click.option(
    "--timeout",
    "seconds",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=DEFAULT_SECONDS,
    show_default=True,
    help="Give up after so long, with exit code 1.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a sentence.")
def command(config: Path | None, adopted: bool, seconds: float, as_json: bool) -> ExitCode:
    """Wait until the config file, as it is now, is in force in every process that has the probe loaded.

    Exit code 0: it is (or no process has the probe loaded); 1: the config was refused, by the watcher or by a
    process, or the time is up.
    """
    from atbprobe_rules.channel import Channel, channel_folder
    from atbprobe_rules.cli.rollout_text import describe_rejection
    from atbprobe_rules.rollout import Stage, wait_for
    from atbprobe_rules.status import rejection_to_json

    del adopted  # the only thing there is to wait for
    path = resolve_config(config)
    try:
        channel = Channel.attach(channel_folder(str(path)))
    except FileNotFoundError:
        click.echo(f"nothing watches {path}: source load_atb_probe.sh first", err=True)
        return ExitCode.NO
    with channel:
        rollout = wait_for(channel, path, lambda look: look.is_final, seconds)

    generation = None if rollout.published is None else rollout.published.generation
    waiting = [process.pid for process in rollout.waiting]
    refusing = [process.pid for process in rollout.refusing]
    if as_json:
        answer = {
            "config": str(path),
            "stage": rollout.stage.value,
            "generation": generation,
            "processes": len(rollout.live),
            "waiting": waiting,
            "refusing": refusing,
            "rejected": rejection_to_json(rollout.rejection),
        }
        click.echo(json.dumps(answer))
    if rollout.stage is Stage.ADOPTED:
        if not as_json:
            click.echo(_adopted(generation, len(rollout.live)))
        return ExitCode.FINE
    if rollout.stage is Stage.NO_FILE:
        click.echo(f"{path}: no such file", err=True)
    elif rollout.stage is Stage.REJECTED and rollout.rejection is not None:
        click.echo(describe_rejection(rollout.rejection), err=True)
    elif rollout.stage is Stage.NOT_PUBLISHED and not rollout.watched:
        click.echo(f"nothing watches {path} any more: source load_atb_probe.sh again", err=True)
    elif rollout.stage is Stage.NOT_PUBLISHED:
        click.echo(f"{path}: not published within {seconds:g} s: see `atbprobe-rules status`", err=True)
    else:
        for process in rollout.refusing:
            click.echo(f"process {process.pid} refused generation {generation}: {process.verdict}", err=True)
        if waiting:
            listed = ", ".join(str(pid) for pid in waiting)
            click.echo(f"generation {generation} not taken within {seconds:g} s by process {listed}", err=True)
    return ExitCode.NO


def _adopted(generation: int | None, processes: int) -> str:
    if processes == 0:
        return f"generation {generation} is in force; no process has the probe loaded"
    return f"generation {generation} is in force in {counted(processes, 'process')}"
