"""The table of `status`, for a person."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from atbprobe_rules.channel import Process
from atbprobe_rules.cli.rollout_text import describe_rejection
from atbprobe_rules.status import Status, taken_at


def print_status(status: Status) -> None:
    """Print what is in force, what is not, and one line for each process."""
    console = Console(highlight=False)
    console.print(f"config   {escape(status.config)}", soft_wrap=True)
    console.print(f"rules    {escape(_rules(status))}")
    console.print(f"watcher  {escape(_watcher(status))}", soft_wrap=True)
    if status.rejected is not None:
        console.print("refused  the last edit:")
        console.print(escape(describe_rejection(status.rejected)), soft_wrap=True)
    if not status.processes:
        console.print("no process has loaded the probe and used it yet")
        return
    console.print(_process_table(status))


def _rules(status: Status) -> str:
    if status.published is None:
        return "none yet"
    since = taken_at(status.published).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return f"generation {status.published.generation}, since {since}"


def _watcher(status: Status) -> str:
    if status.watcher is None:
        return "none: edits are not seen; source load_atb_probe.sh again"
    if not status.watcher.alive:
        return f"process {status.watcher.pid} has died: edits are not seen; source load_atb_probe.sh again"
    return f"process {status.watcher.pid}, log {status.log}"


def _process_table(status: Status) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
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
    table.caption_justify = "left"
    return table


def _adoption(process: Process, status: Status) -> str:
    if not process.alive:
        return "ended"
    if status.published is None or process.generation == status.published.generation:
        return f"gen. {process.generation}"
    if process.generation_seen == status.published.generation:
        return f"gen. {process.generation}; newest refused: {process.verdict}"
    return f"gen. {process.generation}; newest not taken yet"
