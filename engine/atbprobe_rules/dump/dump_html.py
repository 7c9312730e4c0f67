"""What a notebook shows of a dump."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from atbprobe_rules.diagnostics import printable

if TYPE_CHECKING:
    from atbprobe_rules.dump.tree import Dump, Round

MOST_ROUNDS = 20
MOST_OPS = 200


def dump_html(dump: Dump) -> str:
    """Return a table of devices and the numbers of their rounds; no round is read for it."""
    rows = []
    for device in dump.devices:
        numbers = [one.path.name for one in device.rounds]
        shown = ", ".join(numbers[:MOST_ROUNDS]) + (", …" if len(numbers) > MOST_ROUNDS else "")
        rows.append((device.path.name, str(len(numbers)), shown))
    return _table("Dump", str(dump.path), ("device_pid", "rounds", "their numbers"), rows)


def round_html(one: Round) -> str:
    """Return a table of operations, parents before children, with the numbers of their tensors."""
    rows = [
        (op.ids, op.names, str(len(op.inputs)), str(len(op.outputs)), str(len(op.children)))
        for op in islice(one.walk(), MOST_OPS + 1)
    ]
    if len(rows) > MOST_OPS:
        rows[MOST_OPS:] = [("…", "", "", "", "")]
    return _table("Round", str(one.path), ("id path", "operation", "inputs", "outputs", "children"), rows)


def _table(title: str, path: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["".join(f"<td>{html.escape(printable(cell))}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    titles = "".join(f"<th>{cell}</th>" for cell in head)
    place = html.escape(printable(path))
    return f"<b>{title}</b> <code>{place}</code><table><tr>{titles}</tr>{body}</table>"
