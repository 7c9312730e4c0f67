"""Statistics of a tensor in blocks, against numpy at once."""

from __future__ import annotations

import math
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import atbprobe_rules
from atbprobe_rules.dump import tensor as tensor_module
from atbprobe_rules.dump.tensor_summary import TensorSummary, summarize
from dump_files import bin_file, put
from narrow_values import NARROW

one_folder_for_all_examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks for a few values."""
    blocks = tensor_module.Tensor.blocks
    monkeypatch.setattr(tensor_module.Tensor, "blocks", lambda self: blocks(self, 64))


def summary_of(folder: Path, values: Any, dtype: int, dims: str | None = None) -> TensorSummary:
    data = values.tobytes() if isinstance(values, np.ndarray) else bytes(values)
    path = put(folder / "intensor0.bin", bin_file(data, dtype, dims if dims is not None else str(len(values))))
    return summarize(atbprobe_rules.load(path))


@one_folder_for_all_examples
@given(values=st.lists(st.floats(width=64), min_size=1, max_size=60))
def test_doubles(tmp_path: Path, values: list[float]) -> None:
    array = np.array(values)
    summary = summary_of(tmp_path, array, 11)
    finite = array[np.isfinite(array)]
    assert summary.count == array.size
    assert summary.nan == np.isnan(array).sum()
    assert (summary.positive_infinity, summary.negative_infinity) == ((array == np.inf).sum(), (array == -np.inf).sum())
    assert summary.first == pytest.approx(values[:5], rel=0, nan_ok=True)
    assert summary.last == pytest.approx(values[-5:], rel=0, nan_ok=True)
    assert [place.position for place in summary.places] == np.flatnonzero(~np.isfinite(array))[:8].tolist()
    if finite.size:
        assert (summary.finite.max, summary.finite.min) == (finite.max(), finite.min())
        largest = np.abs(finite).max()
        mean = float((finite.astype(np.longdouble)).mean())
        assert summary.finite.mean == pytest.approx(mean, rel=1e-12, abs=1e-13 * largest)
        assert summary.histogram is not None
        assert sum(summary.histogram.counts) == finite.size
        assert summary.histogram.edges[0] == finite.min()
        assert summary.histogram.edges[-1] == finite.max()
    else:
        assert summary.finite.max is summary.histogram is None
    if summary.nan:
        assert all(math.isnan(value) for value in astuple(summary.statistics))
        return
    assert (summary.statistics.max, summary.statistics.min) == (array.max(), array.min())
    norm = float(np.sqrt((array.astype(np.longdouble) ** 2).sum()))
    assert summary.statistics.norm == pytest.approx(norm, rel=1e-12)
    if not summary.not_finite:
        assert summary.statistics.mean == summary.finite.mean
    elif summary.positive_infinity and summary.negative_infinity:
        assert math.isnan(summary.statistics.mean)
    else:
        assert summary.statistics.mean == (math.inf if summary.positive_infinity else -math.inf)


@pytest.mark.parametrize(
    ("dtype", "kind"), [(2, np.int8), (3, np.int32), (9, np.int64), (10, np.uint64), (12, np.bool_)]
)
def test_whole_numbers_are_exact(tmp_path: Path, dtype: int, kind: type[np.generic]) -> None:
    info = None if kind is np.bool_ else np.iinfo(kind)
    values = np.array([True, False] if info is None else [info.max, info.min, 1, 1, info.max], kind)
    summary = summary_of(tmp_path, values, dtype)
    assert (summary.statistics.max, summary.statistics.min) == (values.max(), values.min())
    assert summary.statistics.mean == pytest.approx(float(values.astype(np.longdouble).mean()), rel=1e-15)
    assert list(summary.first) == values.tolist()


@pytest.mark.parametrize("dtype", sorted(NARROW))
def test_small_types(tmp_path: Path, dtype: int) -> None:
    bits, table = NARROW[dtype]
    summary = summary_of(tmp_path, range(2**bits), dtype, str(2**bits))
    finite = [value for value in table if math.isfinite(value)]
    assert (summary.finite.max, summary.finite.min) == (max(finite), min(finite))
    assert summary.not_finite == len(table) - len(finite)
    if dtype in (29, 30):
        assert all(isinstance(value, int) for value in (*summary.first, summary.statistics.max))


def test_complex_numbers_go_by_magnitude(tmp_path: Path) -> None:
    values = np.array([3 - 4j, 0.5j, 1, -3 + 2.5j] * 5, np.complex64)
    summary = summary_of(tmp_path, values, 16)
    assert (summary.statistics.max, summary.statistics.min, summary.statistics.mean) == (
        3 - 4j,
        0.5j,
        complex(values.mean()),
    )
    assert summary.statistics.norm == pytest.approx(float(np.linalg.norm(values)))
    assert summary.histogram is not None
    assert (summary.histogram.edges[0], summary.histogram.edges[-1]) == (0.5, 5)
    assert sum(summary.histogram.counts) == 20


def test_infinite_and_huge_complex_numbers(tmp_path: Path) -> None:
    infinite = summary_of(tmp_path, np.array([1, complex(np.inf, -np.inf), complex(2, -np.inf)]), 17)
    assert (infinite.nan, infinite.positive_infinity, infinite.negative_infinity) == (0, 1, 1)
    assert infinite.statistics.mean == complex(np.inf, -np.inf)
    assert infinite.statistics.norm == math.inf
    huge = summary_of(tmp_path, np.array([1e308 + 1e308j, 1e307 + 0j]), 17)
    assert huge.statistics.max == 1e308 + 1e308j
    assert huge.statistics.norm == pytest.approx(math.hypot(1e308, 1e308, 1e307))


def test_places_have_an_index_unless_they_are_padding(tmp_path: Path) -> None:
    values = np.zeros(7, np.float32)
    values[[4, 6]] = np.nan, -np.inf
    summary = summary_of(tmp_path, values, 0, "2,3")
    assert [(place.position, place.index) for place in summary.places] == [(4, (1, 1)), (6, None)]


@pytest.mark.parametrize("values", [[], [2.5] * 3, [np.nan], [-1.7e308, 1.7e308]])
def test_histograms_of_next_to_nothing(tmp_path: Path, values: list[float]) -> None:
    summary = summary_of(tmp_path, np.array(values), 11)
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        assert summary.histogram is None
        return
    assert summary.histogram is not None
    assert summary.histogram.counts == (len(finite),)


def test_nothing_is_guessed_of_unknown_types(tmp_path: Path) -> None:
    with pytest.raises(atbprobe_rules.DumpError, match="cannot be read"):
        summary_of(tmp_path, b"abc", 13)
