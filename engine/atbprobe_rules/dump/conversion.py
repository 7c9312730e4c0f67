"""Converting dumps to files of other formats, a file at a time; what is there already and whole is left alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, field

from atbprobe_rules.dump.conversion_plan import ConversionPlan, Source, Target
from atbprobe_rules.dump.converted_array import ConvertedArray, FileFormat, converted_array
from atbprobe_rules.dump.converted_files import check_reachable, is_converted, sweep, write_converted
from atbprobe_rules.dump.dump_error import DumpError


@dataclass
class Conversion:
    """What has become of a plan. `types` counts tensors by the type that they had and have."""

    written: int = 0
    skipped: int = 0
    tensors: int = 0
    bytes: int = 0
    types: Counter[tuple[str, str]] = field(default_factory=Counter)
    problems: list[DumpError] = field(default_factory=list)


def convert(plan: ConversionPlan, advance: Callable[[int], None] = lambda _: None) -> Conversion:
    """Make the files of a plan. A tensor that cannot be read is left out and is among the result's problems.

    `advance` is told how many tensors are through. OSError if a file cannot be written: the next one would fare no
    better. What was written before is whole, and is not written again the next time.
    """
    result = Conversion(problems=list(plan.problems))
    for folder in {target.path.parent for target in plan.targets}:
        sweep(folder)
    for target in plan.targets:
        _convert_file(target, plan, result, advance)
    return result


def _convert_file(target: Target, plan: ConversionPlan, result: Conversion, advance: Callable[[int], None]) -> None:
    arrays = _readable(target, plan.file_format, result.problems)
    advance(len(target.sources) - len(arrays))
    if not arrays:
        return
    if is_converted(target.path, arrays, plan.file_format):
        result.skipped += 1
        advance(len(arrays))
        return
    try:
        check_reachable(target.path)
        write_converted(target.path, arrays, plan.file_format, lambda: advance(1))
    except DumpError as error:
        result.problems.append(error)
        return
    result.written += 1
    result.tensors += len(arrays)
    result.bytes += sum(array.tensor.nbytes for array in arrays.values())
    result.types.update((array.dtype, array.type_name) for array in arrays.values())


def _readable(target: Target, file_format: FileFormat, problems: list[DumpError]) -> dict[str, ConvertedArray]:
    """By the names that they get."""
    arrays: dict[str, ConvertedArray] = {}
    for source in target.sources:
        try:
            array = converted_array(source.load(), file_format)
        except DumpError as error:
            problems.append(error)
        except OSError as error:
            problems.append(DumpError(source.path, os.strerror(error.errno) if error.errno else str(error)))
        else:
            arrays[_text_name(source, arrays)] = array
    return arrays


def _text_name(source: Source, taken: Container[str]) -> str:
    """Archives name their members in UTF-8: other bytes become `%XX`."""
    raw = os.fsencode(source.name)
    name = raw.decode("utf-8", "surrogateescape")
    name = "".join(f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in name)
    candidate, number = name, 1
    while candidate in taken or candidate == "__metadata__":
        number += 1
        candidate = f"{name}~{number}"
    return candidate
