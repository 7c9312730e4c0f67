"""What a notebook shows of a dump."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from atbprobe_rules.diagnostics import printable

if TYPE_CHECKING:
    from atbprobe_rules.dump.tree import Dump

MOST_ROUNDS = 20


def dump_html(dump: Dump) -> str:
    """Return a table of devices and the numbers of their rounds; no round is read for it."""
    rows = []
    for device in dump.devices:
        numbers = [one.path.name for one in device.rounds]
        shown = ", ".join(numbers[:MOST_ROUNDS]) + (", …" if len(numbers) > MOST_ROUNDS else "")
        cells = (device.path.name, str(len(numbers)), shown)
        rows.append("".join(f"<td>{html.escape(printable(cell))}</td>" for cell in cells))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    head = "<tr><th>device_pid</th><th>rounds</th><th>their numbers</th></tr>"
    path = html.escape(printable(str(dump.path)))
    return f"<b>Dump</b> <code>{path}</code><table>{head}{body}</table>"
