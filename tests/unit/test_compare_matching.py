"""Which tensors belong together: by numbers and never by names, through a map where numbers are others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from atbprobe_rules.compare.comparison import Comparison, compare_dumps
from atbprobe_rules.compare.matching import UnlikePartsError
from atbprobe_rules.compare.number_map import NumberMap, NumberMapError
from atbprobe_rules.compare.tensor_pair import Verdict
from atbprobe_rules.dump.open_dump import open_dump
from dump_files import bin_file, put

ONES = bin_file(np.ones(4, np.float32).tobytes(), 0, "4")
TWOS = bin_file(np.full(4, 2, np.float32).tobytes(), 0, "4")


def dump(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        put(folder / "data" / name, content)
    return folder


def compared(golden: Path, target: Path, numbers: NumberMap | None = None) -> Comparison:
    return compare_dumps(open_dump(golden), open_dump(target), numbers=numbers)


def pairs(comparison: Comparison) -> set[tuple[str, str]]:
    return {(str(tensor.golden), str(tensor.target)) for tensor in comparison.tensors}


def test_names_of_operations_and_parameters_do_not_count(tmp_path: Path) -> None:
    golden = dump(tmp_path / "a", {"0_1/0/2_Layer/0_Linear/0_MatMulKernel/before/intensor0_x.bin": ONES})
    target = dump(tmp_path / "b", {"0_9/0/2_Layer/0_MyPlugin/0_FastKernel/before/intensor0.bin": ONES})
    found = compared(golden, target)
    assert [tensor.verdict for tensor in found.tensors] == [Verdict.IDENTICAL]
    assert (found.is_incomplete, found.notes) == (False, [])


def test_layers_of_two_names_are_noted(tmp_path: Path) -> None:
    golden = dump(tmp_path / "a", {"0_1/0/2_Layer/after/outtensor0.bin": ONES})
    target = dump(tmp_path / "b", {"0_9/0/2_LmHead/after/outtensor0.bin": ONES})
    [note] = compared(golden, target).notes
    assert "2_Layer with 2_LmHead" in note


def test_input_and_output_and_number_are_kept_apart(tmp_path: Path) -> None:
    files = {f"0_1/0/2_A/before/intensor{number}.bin": ONES for number in (0, 1, 10)}
    files["0_1/0/2_A/after/outtensor1.bin"] = ONES
    found = compared(dump(tmp_path / "a", files), dump(tmp_path / "b", files))
    assert len(found.tensors) == 4
    assert all(str(tensor.golden) == str(tensor.target) for tensor in found.tensors)


def test_of_two_kernels_with_one_id_the_names_decide(tmp_path: Path) -> None:
    names = ("0_1/0/2_A/0_XKernel/after/outtensor0.bin", "0_1/0/2_A/0_YKernel/after/outtensor0.bin")
    golden = dump(tmp_path / "a", dict(zip(names, (ONES, TWOS), strict=True)))
    target = dump(tmp_path / "b", dict(zip(reversed(names), (TWOS, ONES), strict=True)))
    found = compared(golden, target)
    assert [tensor.verdict for tensor in found.tensors] == [Verdict.IDENTICAL] * 2


def test_two_processes_belong_together_if_there_are_no_others(tmp_path: Path) -> None:
    golden = dump(tmp_path / "a", {"0_1/0/2_A/after/outtensor0.bin": ONES})
    target = dump(tmp_path / "b", {"7_9/0/2_A/after/outtensor0.bin": ONES, "7_9.old1/0/2_A/after/outtensor0.bin": TWOS})
    found = compared(golden, target)
    assert pairs(found) == {("0_1/0/2_A/output.0", "7_9/0/2_A/output.0")}
    assert not found.is_incomplete
    assert "7_9.old1" in found.notes[0]


def test_processes_are_matched_by_device_and_in_the_order_of_their_ids(tmp_path: Path) -> None:
    files = {f"{process}/0/2_A/after/outtensor0.bin": ONES for process in ("0_8", "0_11", "1_5")}
    others = {f"{process}/0/2_A/after/outtensor0.bin": ONES for process in ("1_700", "0_900", "0_70", "2_5")}
    found = compared(dump(tmp_path / "a", files), dump(tmp_path / "b", others))
    matched = {(tensor.golden.process, tensor.target.process) for tensor in found.tensors}
    assert matched == {("0_8", "0_70"), ("0_11", "0_900"), ("1_5", "1_700")}
    assert [place.process for place in found.only_target] == ["2_5"]
    assert "0_8 with 0_70" in found.notes[0]
    assert found.is_incomplete


def test_a_map_of_devices_rounds_and_operations(tmp_path: Path) -> None:
    golden = {
        "0_1/0/2_A/1_B/after/outtensor0.bin": ONES,
        "0_1/0/2_A/after/outtensor0.bin": TWOS,
        "1_1/3/9_C/after/outtensor0.bin": TWOS,
    }
    target = {
        "4_1/5/3_A/7_B/after/outtensor0.bin": ONES,
        "4_1/5/3_A/after/outtensor0.bin": TWOS,
        "5_1/8/9_C/after/outtensor0.bin": TWOS,
    }
    text = '{"devices": {"0-1": "4-5"}, "rounds": {"0-3": "5-8"}, "ops": {"2": "3", "2_1": "3_7"}}'
    found = compared(dump(tmp_path / "a", golden), dump(tmp_path / "b", target), NumberMap.parse(text))
    assert (len(found.tensors), found.is_incomplete, found.differs) == (3, False, False)


def test_a_round_and_several_are_not_compared(tmp_path: Path) -> None:
    files = {f"0_1/{number}/2_A/after/outtensor0.bin": ONES for number in (0, 1)}
    golden = dump(tmp_path / "a", files)
    with pytest.raises(UnlikePartsError):
        compared(golden / "data/0_1/0", golden)
    found = compared(golden / "data/0_1/0", golden / "data/0_1/1")
    assert pairs(found) == {("0_1/0/2_A/output.0", "0_1/1/2_A/output.0")}


def test_numbers_of_a_map() -> None:
    numbers = NumberMap.parse('{"ops": {"2-4": "12-14", "2_1": "12_9", "3_0-1": "5_5-6"}, "rounds": {"1": 7}}')
    assert [numbers.op(ids) for ids in ((2,), (2, 0), (2, 1), (2, 1, 5), (4, 8), (3, 1, 1), (9, 2))] == [
        *((12,), (12, 0), (12, 9), (12, 9, 5), (14, 8), (5, 6, 1), (9, 2))
    ]
    assert [numbers.round(number) for number in (0, 1)] == [0, 7]
    assert NumberMap.same().op((1, 2)) == (1, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "not an object"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"layers": {}}', "no layers"),
        ('{"ops": []}', "ops is not an object"),
        ('{"ops": {"a": "1"}}', "'a' is no id path"),
        ('{"ops": {"1-2_3": "1_3"}}', "is no id path"),
        ('{"rounds": {"1_2": "1"}}', "is no number or range"),
        ('{"rounds": {"5-2": "1-4"}}', "is no range"),
        ('{"rounds": {"0-99999999": "0-99999999"}}', "a very long one"),
        ('{"rounds": {"0-3": "1-2"}}', "not of one length"),
        ('{"rounds": {"0-3": "1-4", "2": "9"}}', "2 goes to two places"),
        ('{"rounds": {"0": true}}', "which is no text"),
    ],
)
def test_maps_that_are_none(text: str, said: str) -> None:
    with pytest.raises(NumberMapError, match=said):
        NumberMap.parse(text)
