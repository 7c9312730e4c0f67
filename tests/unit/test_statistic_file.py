"""statistic.csv and anomaly.csv as data, with hostile cells."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.statistic_file import read_anomalies, read_statistics
from dump_files import ANOMALY_HEADER, STATISTIC_HEADER, put

START = "0_1234,0,Layer/Attention,Attention,2_1,input,0_query,float16,nd,36x128,"
GOOD = START + "1.5,-inf,nan,1e-07,/data/x.bin\n"


def statistics(folder: Path, text: str | bytes, header: str = STATISTIC_HEADER) -> Path:
    return put(folder / "statistic.csv", header.encode() + (text.encode() if isinstance(text, str) else text))


def test_a_row(tmp_path: Path) -> None:
    found = read_statistics(statistics(tmp_path, GOOD))
    (row,) = found.rows
    assert found.problems == ()
    assert (row.line, row.dtype, row.format, row.shape) == (2, "float16", "nd", (36, 128))
    assert (row.address.names, row.address.ids) == (("Layer", "Attention"), (2, 1))
    assert (row.address.tensor.ordinal, row.address.tensor.parameter) == (0, "query")
    assert (row.max, row.min, row.norm, row.path) == (1.5, -math.inf, 1e-07, "/data/x.bin")
    assert isinstance(row.mean, float)
    assert math.isnan(row.mean)
    assert row.has_statistics


def test_a_name_may_hold_anything(tmp_path: Path) -> None:
    name = b"nul\0 line\nend\r\xff\x80"
    row = f'0_1,0,"{name.decode("utf-8", "surrogateescape")}",A,2,input,0,float,nd,1,N/A,N/A,N/A,N/A,N/A\n'
    found = read_statistics(statistics(tmp_path, row.encode("utf-8", "surrogateescape")))
    assert found.problems == ()
    assert [os.fsencode(row.address.names[0]) for row in found.rows] == [name]


def test_complex_numbers_and_what_is_not_available(tmp_path: Path) -> None:
    text = START + '"(3,-4)","(0,0.5)","(nan,inf)",2,N/A\n' + START + "N/A,N/A,N/A,N/A,N/A\n"
    first, second = read_statistics(statistics(tmp_path, text)).rows
    assert (first.max, first.min, first.path) == (3 - 4j, 0.5j, None)
    assert (second.max, second.min, second.mean, second.norm) == (None,) * 4
    assert not second.has_statistics


@pytest.mark.parametrize(("text", "shape"), [("", ()), ("3", (3,)), ("0x128", (0, 128)), ("axb", None), ("3x", None)])
def test_shapes(tmp_path: Path, text: str, shape: tuple[int, ...] | None) -> None:
    (row,) = read_statistics(statistics(tmp_path, GOOD.replace("36x128", text))).rows
    assert row.shape == shape


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("a,b\n", "line 3: 2 columns, not 15"),
        (GOOD.replace("1.5", "1_5"), "'1_5' is no number"),
        (GOOD.replace("1.5", "=cmd|' /C calc'!A0"), "is no number"),
        (GOOD.replace("1.5", "9" * 500), "is no number"),
        (GOOD.replace("1.5", "0x10"), "is no number"),
        (GOOD.replace("input", "inout"), "Input/Output is 'inout'"),
        (GOOD.replace("2_1", "2__1"), "Op Id is '2__1'"),
        (GOOD.replace("2_1", "-2"), "Op Id is '-2'"),
        (GOOD.replace("Layer", '"Lay"er'), "line 3: ',' expected after"),
        (GOOD.replace("Layer", "L" * 200_000), "cut short"),
        (GOOD.replace("Layer", "/" * 100_000), "Op Name has more than 128 parts"),
        (GOOD.replace("Layer", "\x1b[2J").replace("2_1", "\x1b"), "Op Id is"),
    ],
)
def test_a_row_that_is_none_is_left_out_and_told(tmp_path: Path, bad: str, reason: str) -> None:
    found = read_statistics(statistics(tmp_path, GOOD + bad))
    assert len(found.rows) == 1
    (problem,) = found.problems
    assert reason in str(problem)
    assert "\x1b" not in str(problem)


def test_rows_behind_a_bad_one_are_read(tmp_path: Path) -> None:
    found = read_statistics(statistics(tmp_path, GOOD + "bad\n" * 100 + GOOD))
    assert [row.line for row in found.rows] == [2, 103]
    assert len(found.problems) == 20


def test_a_row_cut_short_is_left_out(tmp_path: Path) -> None:
    """It would read as another path."""
    found = read_statistics(statistics(tmp_path, GOOD + GOOD[:-5]))
    assert len(found.rows) == 1
    assert "cut short" in found.problems[0].reason


def test_names_may_be_anything(tmp_path: Path) -> None:
    names = '"say ""a, b""\n/\u6ce8\udcff"'
    text = GOOD.replace("Layer/Attention", names).encode("utf-8", "surrogateescape")
    (row,) = read_statistics(statistics(tmp_path, text)).rows
    assert row.address.names == ('say "a, b"\n', "注\udcff")


@pytest.mark.parametrize("header", ["", "a,b\n", STATISTIC_HEADER[:-1], "\0", '"'])
def test_what_has_no_header_is_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(DumpError, match="not the header"):
        read_statistics(statistics(tmp_path, "", header))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "statistic.csv")
    with pytest.raises(DumpError, match="not a file"):
        read_statistics(tmp_path / "statistic.csv")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.text(max_size=20), min_size=15, max_size=15), raw=st.binary(max_size=80))
def test_any_cells_are_rows_or_problems(tmp_path: Path, cells: list[str], raw: bytes) -> None:
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"
    text = GOOD.encode() + quoted.encode("utf-8", "surrogatepass") + raw
    found = read_statistics(statistics(tmp_path, text))
    assert found.rows[0].line == 2
    assert len(found.rows) + len(found.problems) >= 2


def test_an_anomaly(tmp_path: Path) -> None:
    start = '0_1234,0,Layer,Layer,2,output,0,float,3x16,1,0,2,49,"3,1",'
    path = put(tmp_path / "anomaly.csv", ANOMALY_HEADER + start + "/x.bin\n" + start.replace('"3,1"', "N/A") + "N/A\n")
    first, second = read_anomalies(path).rows
    assert (first.nan, first.positive_infinity, first.negative_infinity, first.count) == (1, 0, 2, 3)
    assert (first.position, first.index, first.shape, first.path) == (49, (3, 1), (3, 16), "/x.bin")
    assert (second.index, second.path) == (None, None)


@pytest.mark.parametrize("bad", ["-1", "1.5", "", "x", "9" * 30])
def test_a_count_that_is_none(tmp_path: Path, bad: str) -> None:
    start = f"0_1234,0,Layer,Layer,2,output,0,float,3,{bad},0,2,0,0,"
    found = read_anomalies(put(tmp_path / "anomaly.csv", ANOMALY_HEADER + start + "N/A\n"))
    assert found.rows == ()
    assert "no number of elements" in found.problems[0].reason
