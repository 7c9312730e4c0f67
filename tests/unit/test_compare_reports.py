"""The table as .csv and .xlsx, with names that want to be formulas, markup or terminal controls."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from atbprobe_rules.compare import xlsx_report
from atbprobe_rules.compare.comparison import Comparison, compare_dumps
from atbprobe_rules.compare.csv_report import write_csv
from atbprobe_rules.compare.description import describe
from atbprobe_rules.compare.html_report import write_html
from atbprobe_rules.compare.result_table import ResultTable
from atbprobe_rules.compare.xlsx_report import write_xlsx
from atbprobe_rules.dump.open_dump import open_dump
from dump_files import bin_file, put

HOSTILE = [
    "=cmd|'x'!A1",
    "</script><script>alert(1)<",
    'a,"b"\r\nc',
    "@SUM(1)",
    "\udcff\x1b[31m",
    "https:,,example.org",
]
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("hostile")
    for number, name in enumerate(HOSTILE):
        for side, value in (("golden", 1.0), ("target", float("nan") if number == 1 else 2.0)):
            content = bin_file(np.array([value, np.inf], np.float32).tobytes(), 0, "2")
            put(folder / side / f"0_1/0/{number}_{name.replace('/', '|')}/after/outtensor0.bin", content)
    return compare_dumps(open_dump(folder / "golden/0_1"), open_dump(folder / "target/0_1"))


def test_the_csv_reads_back(comparison: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_csv(ResultTable(comparison), path)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(ResultTable(comparison).columns)
    assert [row[1].partition("_")[2].rpartition("/")[0] for row in rows] == [name.replace("/", "|") for name in HOSTILE]
    assert rows[0][header.index("Golden Max")] == "inf"
    assert float(rows[0][header.index("Max Absolute Err")]) == 1.0
    assert rows[1][header.index("NaN or Infinity Mismatches")] == "1"
    for line in path.read_bytes().splitlines():
        assert not re.match(rb"[=@+]", line)


def test_numbers_of_the_csv_are_exact(comparison: Comparison, tmp_path: Path) -> None:
    write_csv(ResultTable(comparison), tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, tensor in zip(rows, comparison.tensors, strict=True):
        assert tensor.outcome.metrics is not None
        assert float(row["Euc Distance"]) == tensor.outcome.metrics.euclidean_distance


def cells(path: Path, sheet: int = 1) -> list[list[tuple[str, str]]]:
    """(type, text) of every cell; a type is `n` of numbers, `inlineStr` or `s` of text, `str` of a formula's."""
    with zipfile.ZipFile(path) as archive:
        root = ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{sheet}.xml"))
    assert not list(root.iter(f"{SHEET}f")), "a formula"
    return [
        [(cell.get("t", "n"), "".join(cell.itertext())) for cell in row.iter(f"{SHEET}c")]
        for row in root.iter(f"{SHEET}row")
    ]


def test_the_xlsx_has_numbers_as_numbers_and_names_as_text(comparison: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "table.xlsx"
    write_xlsx(ResultTable(comparison), path)
    header, *rows = cells(path)
    titles = [text for _, text in header]
    assert titles == list(ResultTable(comparison).columns)
    assert len(rows) == len(HOSTILE)
    assert rows[0][0] == ("inlineStr", "0_=cmd|'x'!A1/output.0")
    assert rows[0][titles.index("Max Absolute Err")] == ("n", "1")
    assert rows[0][titles.index("Golden Max")] == ("inlineStr", "inf")
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if "rels" in name and b"example.org" in archive.read(name)]


def test_rows_that_do_not_fit_go_on_in_another_sheet(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx_report, "MOST_ROWS", 4)
    path = tmp_path / "table.xlsx"
    write_xlsx(ResultTable(comparison), path)
    assert [len(cells(path, sheet)) for sheet in (1, 2)] == [4, 4]
    assert cells(path, 2)[1][0][1].startswith("3_")


def test_a_report_is_there_whole_or_not_at_all(comparison: Comparison, tmp_path: Path) -> None:
    place = tmp_path / "table.csv"
    place.write_text("before")
    broken = ResultTable(comparison)
    for write, path in ((write_csv, place), (write_xlsx, tmp_path / "none" / "table.xlsx")):
        with pytest.raises((OSError, AttributeError)):
            write(broken if path != place else ResultTable(None), path)
    assert place.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_the_json_is_json(comparison: Comparison) -> None:
    found = json.loads(json.dumps(describe(comparison), allow_nan=False))
    assert found["tensors"][0]["golden"]["max"] == "inf"
    assert found["tensors"][1]["target"]["max"] == "nan"
    assert found["counts"]["differs"] == len(HOSTILE)


def test_no_name_ends_the_pages_data(comparison: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_html(comparison, path)
    text = path.read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script>") == 2
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert len(data["rows"]) == len(HOSTILE)
    assert "http:" not in text
    assert "https:" not in text.replace("https:,,example.org", "")
