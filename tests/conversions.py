"""What tests of conversions share: a small dump, and running and reading a conversion of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import safetensors.numpy

from atbprobe_rules.dump.conversion import Conversion, convert
from atbprobe_rules.dump.conversion_plan import plan_conversion
from atbprobe_rules.dump.converted_array import FileFormat
from dump_files import bin_file, put, reference_file

ROUND = "atb_dump_data/data/0_1234/0"
FORMATS = list(FileFormat)


def small_dump(tmp_path: Path) -> Path:
    """Two rounds; one has a reference and a bf16 tensor."""
    one = tmp_path / "dump" / ROUND
    put(one / "2_Layer/before/intensor0.bin", bin_file(np.arange(6, dtype=np.float32).tobytes(), 0, "2,3"))
    put(one / "2_Layer/1_Norm/before/intensor0_x.bin", reference_file("2_intensor0.bin", 0, "2,3"))
    put(one / "2_Layer/after/outtensor0.bin", bin_file(np.array([1.5, -2], ml_dtypes.bfloat16).tobytes(), 27, "2"))
    put(one.parent / "1/2_Layer/before/intensor0.bin", bin_file(np.float32(4).tobytes()))
    return tmp_path / "dump"


def run(paths: Path | list[Path], file_format: FileFormat, out: Path) -> Conversion:
    return convert(plan_conversion(paths if isinstance(paths, list) else [paths], file_format, out))


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def read_all(path: Path) -> dict[str, Any]:
    if path.suffix == ".npz":
        with np.load(path) as archive:
            return dict(archive)
    return dict(safetensors.numpy.load_file(path))
