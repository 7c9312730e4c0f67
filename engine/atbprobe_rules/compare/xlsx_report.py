"""The table as an .xlsx for a spreadsheet: numbers as numbers, names as text whatever they look like."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from atbprobe_rules.compare.result_table import Cell, ResultTable
from atbprobe_rules.diagnostics import printable
from atbprobe_rules.whole_file import whole_file

MOST_ROWS = 1_048_576
"""Of a sheet, with its header."""

MOST_CHARACTERS = 32_767
"""Of a cell."""

_COLOURS = {"differs": "#F8CBAD", "unreadable": "#FFE699", "unknown": "#FFE699"}


def write_xlsx(table: ResultTable, path: Path) -> None:
    """Write a table, in whole or not at all; raises OSError. What does not fit one sheet goes on in the next."""
    import xlsxwriter

    with whole_file(path) as temporary, tempfile.TemporaryDirectory() as rows_on_disk:
        options = {"constant_memory": True, "tmpdir": rows_on_disk, "strings_to_formulas": False}
        book = xlsxwriter.Workbook(str(temporary), options)
        try:
            _write_sheets(book, table)
            book.close()
        except BaseException as error:
            for sheet in book.worksheets():  # which close their rows only when all goes well
                sheet.row_data_fh.close()
            if isinstance(error, xlsxwriter.exceptions.FileCreateError):
                raise OSError(str(error)) from error
            raise


def _write_sheets(book: Any, table: ResultTable) -> None:
    head = book.add_format({"bold": True, "bottom": 1})
    colours = {verdict: book.add_format({"bg_color": colour}) for verdict, colour in _COLOURS.items()}
    rows = table.rows()
    number = 1
    while _write_sheet(book, table.columns, rows, number, head, colours):
        number += 1


def _write_sheet(
    book: Any, columns: tuple[str, ...], rows: Iterator[list[Cell]], number: int, head: Any, colours: dict[str, Any]
) -> bool:
    """Return whether the sheet is full, and another one is wanted."""
    sheet = book.add_worksheet("Comparison" if number == 1 else f"Comparison {number}")
    sheet.freeze_panes(1, 2)
    sheet.set_column(0, 1, 60)
    sheet.set_column(2, len(columns) - 1, 16)
    verdict_column = columns.index("Verdict")
    for place, column in enumerate(columns):
        sheet.write_string(0, place, column, head)
    written = 0
    for written, row in enumerate(islice(rows, MOST_ROWS - 1), 1):
        style = colours.get(str(row[verdict_column]))
        for place, cell in enumerate(row):
            if isinstance(cell, str):
                sheet.write_string(written, place, printable(cell)[:MOST_CHARACTERS], style)
            else:
                sheet.write_number(written, place, cell, style)
    sheet.autofilter(0, 0, written, len(columns) - 1)
    return written == MOST_ROWS - 1
