"""The tables of `status`, for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from atbprobe_rules.attached_process import Process
from atbprobe_rules.cli.rollout_text import describe_rejection
from atbprobe_rules.cli.words import restart_command
from atbprobe_rules.diagnostics import printable
from atbprobe_rules.host_processes import HostProcess
from atbprobe_rules.status import Status, taken_at

MOST_PROCESS_COLUMNS = 8
"""In the table of hits; with more processes it has sums alone."""


def print_status(status: Status, absent: Sequence[HostProcess]) -> None:
    """Print what is in force, what is not, one line for each process, and hosts that are missing among them."""
    console = Console(highlight=False)
    for part in _parts(status, absent):
        console.print(part, soft_wrap=isinstance(part, Text))


def render_status(status: Status, absent: Sequence[HostProcess]) -> RenderableType:
    """Return the same as one thing to show."""
    return Group(*_parts(status, absent))


def _parts(status: Status, absent: Sequence[HostProcess]) -> Iterator[RenderableType]:
    yield Text(f"config   {printable(status.config)}")
    yield Text(f"rules    {_rules(status)}")
    yield Text(f"watcher  {printable(_watcher(status))}")
    if status.rejected is not None:
        yield Text("refused  the last edit:")
        yield Text(describe_rejection(status.rejected))
    if status.processes:
        yield _process_table(status)
        if status.published is not None and len(status.published.rule_names) > 1:
            yield Text("operations that each rule has selected, by process:")
            yield _hits_table(status, status.published.rule_names)
    else:
        yield Text("no process has loaded the probe and used it yet")
        if not absent:
            yield Text(
                "no program of this user runs ATB at the moment; one that is started in a shell that has sourced "
                "load_atb_probe.sh shows up here with its first operation"
            )
    for process in absent:
        yield Text(printable(process.explain()))


def _rules(status: Status) -> str:
    if status.published is None:
        return "none yet"
    since = taken_at(status.published).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return f"generation {status.published.generation}, since {since}"


def _watcher(status: Status) -> str:
    remedy = f"edits are not seen; `{restart_command(status.config)}` starts it again"
    if status.watcher is None:
        return f"none: {remedy}"
    if not status.watcher.alive:
        return f"process {status.watcher.pid} has died: {remedy}"
    return f"process {status.watcher.pid}" + (f", log {status.log}" if status.log is not None else "")


def _new_table() -> Table:
    return Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), caption_justify="left")


def _process_table(status: Status) -> Table:
    table = _new_table()
    for title in ("pid", "device"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("rules", overflow="fold")
    for title in ("seen", "selected", "saved", "bytes", "queued", "lost"):
        table.add_column(title, justify="right", no_wrap=True)
    for process in status.processes:
        table.add_row(
            str(process.pid),
            "-" if process.device < 0 else str(process.device),
            _adoption(process, status),
            f"{process.ops_seen:,}",
            f"{process.ops_selected:,}",
            f"{process.tensors_saved:,}",
            decimal(process.bytes_saved),
            decimal(process.bytes_queued),
            ", ".join(f"{reason} {count:,}" for reason, count in process.lost.items()) or "-",
        )
    table.caption = "seen and selected: operations; saved: tensors"
    return table


def _hits_table(status: Status, rule_names: Sequence[str]) -> Table:
    table = _new_table()
    table.add_column("rule", overflow="fold")
    shown = status.processes if len(status.processes) <= MOST_PROCESS_COLUMNS else []
    for title in (*(str(process.pid) for process in shown), "all"):
        table.add_column(title, justify="right", no_wrap=True)
    for number, name in enumerate(rule_names):
        hits = [process.hits[number] for process in status.processes]
        columns = hits if shown else []
        table.add_row(Text(printable(name)), *(f"{count:,}" for count in columns), f"{sum(hits):,}")
    return table


def _adoption(process: Process, status: Status) -> str:
    if not process.alive:
        return "ended"
    if status.published is None or process.generation == status.published.generation:
        return f"gen. {process.generation}"
    if process.generation_seen == status.published.generation:
        return f"gen. {process.generation}; newest refused: {process.verdict}"
    return f"gen. {process.generation}; newest not taken yet"
