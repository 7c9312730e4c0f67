"""Directory strings taken apart by the thousand: the same as one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st
from inputs import directories

from atbprobe_rules.op_path import parse_op_path
from atbprobe_rules.op_texts import OpPaths, Texts
from atbprobe_rules.selection import MAX_NUMBER


@given(st.lists(directories, max_size=12))
@example([])
@example([b"", b"/", b"//", b"0_1/2/", b"/0/1_a", b"_/_/_"])
def test_as_one_at_a_time(dirs: Sequence[bytes]) -> None:
    texts = Texts.of(dirs)
    paths = OpPaths.of(texts)
    expected = [parse_op_path(directory) for directory in dirs]
    assert paths.ops.tolist() == [index for index, path in enumerate(expected) if path is not None]
    for index, path in enumerate(path for path in expected if path is not None):
        assert (path.device is not None) == paths.device_known[index]
        assert paths.devices[index] == (path.device or 0)
        assert piece(paths.counts, index) == path.count
        components = range(paths.first[index], paths.first[index] + paths.depth[index])
        assert [bytes(paths.text[paths.name_begin[at] : paths.end[at]]) for at in components] == [
            component.name for component in path.components
        ]
        assert [bytes(paths.text[paths.begin[at] : paths.id_end[at]]) for at in components] == [
            component.id_text for component in path.components
        ]


def piece(texts: Texts, index: int) -> bytes:
    return bytes(texts.text[texts.begin[index] : texts.end[index]])


def test_numbers() -> None:
    written = {
        "0": 0,
        "007": 7,
        "0" * 40 + "12": 12,
        str(MAX_NUMBER): MAX_NUMBER,
        str(MAX_NUMBER + 1): None,
        "9" * 20: None,
        "1" * 21: None,
        "": None,
        "-1": None,
        "1x": None,
        "x1": None,
        "1:": None,
        "\udcff": None,
    }
    values, is_number = Texts.of(list(written)).numbers()
    assert [int(value) if known else None for value, known in zip(values, is_number, strict=True)] == list(
        written.values()
    )
    assert values[~is_number].max() == 0
