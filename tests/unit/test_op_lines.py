"""Lists of ops: what a line may be, wherever the file is cut into batches."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atbprobe_rules.op_lines import OpLines, OpsError, read_op_lines
from atbprobe_rules.selection import MAX_NUMBER

Row = tuple[int | None, bool, bytes]


def rows(lines: OpLines) -> list[Row]:
    text = lines.dirs.text.tobytes()
    return [
        (int(lines.rounds[at]) if lines.has_round[at] else None, bool(lines.from_argument[at]), text[begin:end])
        for at, (begin, end) in enumerate(zip(lines.dirs.begin, lines.dirs.end, strict=True))
    ]


def row_of(line: bytes) -> Row | None:
    """Read one line the plain way; None if it cannot be read."""
    line = line.removesuffix(b"\r")
    given, tab, rest = line.partition(b"\t")
    if tab:
        number = number_of(given)
        return None if number is None else (number, True, rest)
    parts = line.split(b"/", 2)
    return number_of(parts[1]) if len(parts) > 1 else None, False, line


def number_of(digits: bytes) -> int | None:
    if digits.isdigit() and int(digits) <= MAX_NUMBER:
        return int(digits)
    return None


pieces = st.sampled_from([b"0", b"7", b"007", b"\t", b"/", b"_", b"a", b"\r", b"\xff", b"99999999999999999999"])


@given(st.lists(st.lists(pieces, max_size=6).map(b"".join), max_size=6), st.booleans())
@example([b"7\t0_1/0/1_A", b"0_1/3/1_A", b"0_1/x/1_A", b"", b"nonsense", b"5\t", b"a/9"], True)
@example([b"0_1/0/1_A\r", b"\r", b"0_1/0/1_A"], False)
def test_each_line_as_read_alone(lines: list[bytes], ends: bool) -> None:
    text = b"".join(line + b"\n" for line in lines)
    text = text if ends else text.removesuffix(b"\n")
    expected = [row_of(line) for line in (text.removesuffix(b"\n").split(b"\n") if text else [])]
    if None in expected:
        with pytest.raises(OpsError, match=f"^line {expected.index(None) + 1} of the ops: "):
            OpLines.of(text)
    else:
        assert rows(OpLines.of(text)) == expected


def test_a_file_is_read_to_its_end_whatever_the_batches() -> None:
    lines = [b"%d\t0_1/0/%d_A" % (number, number) for number in range(200_000)]
    lines[7] = b"1\t0_1/0/0_" + b"x" * 3_000_000
    batches = list(read_op_lines(io.BytesIO(b"\n".join(lines))))
    assert len(batches) > 3
    assert [row for batch in batches for row in rows(batch)] == [row_of(line) for line in lines]


def test_the_number_of_a_bad_line_counts_all_batches() -> None:
    lines = [b"1\t0_1/0/1_A"] * 200_000 + [b"x\t0_1/0/1_A"]
    with pytest.raises(OpsError, match=r"^line 200001 of the ops: 'x' before the tab"):
        list(read_op_lines(io.BytesIO(b"\n".join(lines))))


def test_nothing() -> None:
    assert list(read_op_lines(io.BytesIO(b""))) == []
