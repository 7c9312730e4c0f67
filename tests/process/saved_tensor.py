"""The arguments of one SaveTensor call, and what must hold among those of one pass."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FILE = re.compile(r"(?P<kind>in|out)tensor(?P<index>\d+)(_(?P<parameter>.+))?\.bin")
ELEMENT_BYTES = {0: 4, 1: 2, 2: 1, 3: 4, 4: 1, 6: 2, 7: 2, 8: 4, 9: 8, 10: 8, 11: 8, 12: 1, 27: 2}


@dataclass(frozen=True)
class SavedTensor:
    """A tensor without its bytes: equal before and after the run of an operation."""

    is_input: bool
    index: int
    parameter: str | None
    format: str
    dtype: str
    dims: str
    size: int

    @classmethod
    def of_call(cls, args: Mapping[str, Any], folder: str) -> SavedTensor:
        """ValueError if the file is not in the folder or the size is not that of dtype and dims."""
        path = str(args["filePath"])
        match = FILE.fullmatch(path.removeprefix(folder)) if path.startswith(folder) else None
        if match is None:
            raise ValueError(f"{path!r} is no tensor file in {folder!r}")
        if not (args["format"].lstrip("-").isdecimal() and args["dtype"].lstrip("-").isdecimal()):
            raise ValueError(f"format {args['format']!r} and dtype {args['dtype']!r} should be numbers in text")
        elements = math.prod(int(dim) for dim in args["dims"].split(",") if args["dims"])
        element_bytes = ELEMENT_BYTES.get(int(args["dtype"]))
        if element_bytes is not None and args["dataSize"] != elements * element_bytes:
            raise ValueError(f"{args['dataSize']} bytes for [{args['dims']}] of dtype {args['dtype']}")
        return cls(
            is_input=match["kind"] == "in",
            index=int(match["index"]),
            parameter=match["parameter"],
            format=args["format"],
            dtype=args["dtype"],
            dims=args["dims"],
            size=args["dataSize"],
        )

    def check_follows(self, earlier: Sequence[SavedTensor], *, named: bool) -> None:
        """Inputs first, each kind numbered from 0; parameter names only on built-in operations, on all or none."""
        if not self.is_input or not earlier or earlier[-1].is_input:
            same_kind = [tensor for tensor in earlier if tensor.is_input == self.is_input]
            if self.index == len(same_kind):
                if self.parameter is not None and not named:
                    raise ValueError(f"a parameter's name ({self.parameter}) where there can be none")
                if any((tensor.parameter is None) != (self.parameter is None) for tensor in earlier):
                    raise ValueError("some files carry a parameter's name, some do not")
                return
        raise ValueError(f"{'in' if self.is_input else 'out'}tensor{self.index} comes out of order")
