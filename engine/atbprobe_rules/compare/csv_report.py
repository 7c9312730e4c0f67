"""The table as a .csv: RFC 4180, numbers as the shortest text that reads back to the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from atbprobe_rules.compare.result_table import Cell, ResultTable
from atbprobe_rules.whole_file import whole_file

_TO_BE_QUOTED = re.compile(r'[,"\r\n]')
_LIKE_A_FORMULA = re.compile(r"[=+\-@\t]")
_NUMBER = re.compile(r"-inf")


def write_csv(table: ResultTable, path: Path) -> None:
    """Write a table, in whole or not at all; raises OSError."""
    with (
        whole_file(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="surrogateescape", newline="") as f,
    ):
        f.write(_line(table.columns))
        f.writelines(map(_line, table.rows()))


def _line(cells: Iterable[Cell]) -> str:
    return ",".join(map(_field, cells)) + "\n"


def _field(cell: Cell) -> str:
    """Quote what a spreadsheet could take for a formula, too, as statistic.csv does: names may be anything."""
    if not isinstance(cell, str):
        return repr(cell)
    if _TO_BE_QUOTED.search(cell) or (_LIKE_A_FORMULA.match(cell) and not _NUMBER.fullmatch(cell)):
        return '"' + cell.replace('"', '""') + '"'
    return cell
