"""An operation of a round and its tensors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atbprobe_rules.diagnostics import printable
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.plain_files import read_small_file
from atbprobe_rules.dump.statistic_file import STATISTIC_FILE, StatisticRow
from atbprobe_rules.dump.stored_names import OpComponent, Side, TensorName
from atbprobe_rules.dump.tensor_file import TensorFile

if TYPE_CHECKING:
    from atbprobe_rules.dump.tensor import Tensor
    from atbprobe_rules.dump.tree import Round

PARAM_FILE = "op_param.json"
MOST_PARAM_BYTES = 64 << 20


@dataclass(eq=False)
class StoredTensor:
    """One tensor of a round: its .bin, its row in statistic.csv, or both.

    `file` is where the .bin is, None without one; as `path`, but not taken apart yet, which costs more than all else
    that reading a tree does.
    """

    op: Op
    name: TensorName
    file: str | None = None
    row: StatisticRow | None = None

    @property
    def path(self) -> Path | None:
        return None if self.file is None else Path(self.file)

    @property
    def side(self) -> Side:
        return self.name.side

    @property
    def io(self) -> str:
        """`input` or `output`."""
        return self.name.side.value

    @property
    def index(self) -> int | None:
        """Which input or output of the operation it is, from 0."""
        return self.name.ordinal

    @property
    def is_missing(self) -> bool:
        """Whether statistic.csv tells of a .bin that is not there."""
        return self.file is None and self.row is not None and self.row.path is not None

    @property
    def full_name(self) -> str:
        """`2_Prefill_layer/1_Attention/before/intensor0.bin`, below the round's folder."""
        return f"{self.op.full_name}/{self.side.folder}/{self.name.file}"

    def load(self) -> Tensor:
        """Open its .bin.

        DumpError if there is none, because only statistics were kept or it is missing, or if it is damaged: the format
        has no checksum, but statistic.csv tells type and shape once more.
        """
        from atbprobe_rules.dump.tensor import Tensor  # and numpy, which a tree is read without

        return Tensor.of(self.open_file())

    def open_file(self) -> TensorFile:
        """As `load`, without the elements."""
        if self.file is None:
            reason = "is missing" if self.is_missing else "was not kept, only its statistics"
            raise DumpError(self.op.path / self.side.folder / self.name.file, f"the file {reason}")
        file = TensorFile.open(self.file, round_folder=self.op.round.path, follow_link=False)
        if self.row is not None and not self.is_told_as(file.dtype, file.shape):
            reason = f"{STATISTIC_FILE} has another type or shape for it ({self.row.dtype} {self.row.shape})"
            raise DumpError(self.file, reason)
        return file

    def is_told_as(self, dtype: str, shape: tuple[int, ...]) -> bool:
        """Whether its row, if there is one, has this type and shape."""
        return self.row is None or (self.row.dtype == dtype and self.row.shape in (None, shape))

    def __repr__(self) -> str:
        kept = "data" if self.file is not None else "missing" if self.is_missing else "statistics only"
        return f"<{printable(self.full_name)}, {kept}>"


@dataclass(eq=False)
class Op:
    """One execution of an operation: `op["0"]` or `op["LinearOperation"]` is a child, `op.outputs[0]` a tensor."""

    round: Round
    components: tuple[OpComponent, ...]
    parent: Op | None = None
    children: list[Op] = field(default_factory=list)
    tensors: list[StoredTensor] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its own name: `Attention`."""
        return self.components[-1].name

    @property
    def names(self) -> str:
        """With those of its parents: `Prefill_layer/Attention`, the Op Name of statistic.csv."""
        return "/".join(component.name for component in self.components)

    @property
    def ids(self) -> str:
        """Its id path: `2_1`."""
        return "_".join(map(str, self.id_path))

    @cached_property
    def id_path(self) -> tuple[int, ...]:
        """The ids from the layer-level operation on; a component without one is the rest of a name with a slash."""
        return tuple(component.id for component in self.components if component.id is not None)

    @cached_property
    def full_name(self) -> str:
        """`2_Prefill_layer/1_Attention`."""
        return "/".join(map(str, self.components))

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The names of its folder and of those above it, below the round's."""
        return tuple(component.folder for component in self.components)

    @property
    def path(self) -> Path:
        """Its folder, which is there if data or parameters were kept."""
        return self.round.path.joinpath(*self.folders)

    @property
    def is_kernel(self) -> bool:
        return "Kernel" in self.name

    @property
    def inputs(self) -> list[StoredTensor]:
        return [tensor for tensor in self.tensors if tensor.side is Side.INPUT]

    @property
    def outputs(self) -> list[StoredTensor]:
        return [tensor for tensor in self.tensors if tensor.side is Side.OUTPUT]

    @property
    def param(self) -> Any:
        """What op_param.json holds, None if there is none. DumpError if it is not JSON."""
        text = read_small_file(self.path / PARAM_FILE, MOST_PARAM_BYTES)
        try:
            return None if text is None else json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DumpError(self.path / PARAM_FILE, f"this is not JSON: {error}") from error

    def walk(self) -> Iterator[Op]:
        """Yield this op and all below it, parents before children."""
        waiting = [self]
        while waiting:
            op = waiting.pop()
            yield op
            waiting.extend(reversed(op.children))

    def __getitem__(self, key: str | int) -> Op:
        for child in self.children:
            component = child.components[-1]
            if str(key) in (str(component.id), component.name, str(component)):
                return child
        raise KeyError(key)

    def __repr__(self) -> str:
        return f"<Op {self.ids} {printable(self.names)}, {len(self.children)} children, {len(self.tensors)} tensors>"
