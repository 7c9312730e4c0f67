"""Arrays compared by numpy, of one type or two: what the native loop is held against."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from atbprobe_rules.compare.array_sums import ArrayPairSums
from atbprobe_rules.compare.metrics import Metrics, metrics_of

Array = npt.NDArray[Any]


def compare_arrays(golden: Array, target: Array) -> Metrics:
    assert golden.shape == target.shape
    is_complex = "c" in (golden.dtype.kind, target.dtype.kind)
    pair = ArrayPairSums(max(_epsilon(golden.dtype), _epsilon(target.dtype)), is_complex=is_complex)
    pair.add(golden.reshape(-1), target.reshape(-1))
    metrics = metrics_of(pair.sums, is_one_type=False, is_complex=is_complex)
    identical = golden.dtype == target.dtype and golden.tobytes() == target.tobytes()
    return dataclasses.replace(metrics, identical=identical)


def _epsilon(dtype: np.dtype[Any]) -> float:
    is_short_float = dtype.kind == "f" and dtype.itemsize <= 4
    is_short_float |= (dtype.kind == "V" and dtype != ml_dtypes.int4) or dtype == np.complex64
    return float(np.finfo(np.float32 if is_short_float else np.float64).eps)
