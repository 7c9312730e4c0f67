"""The tree of a dump: devices, rounds, operations, tensors. Each level is read from disk when it is asked for.

Files and folders that the probe does not make are passed over, and links are not followed. Devices and rounds are
sorted by number; the order within a round is that of execution (`round_reader`).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from atbprobe_rules.diagnostics import printable
from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.dump_html import dump_html, round_html
from atbprobe_rules.dump.op import Op, StoredTensor
from atbprobe_rules.dump.plain_files import folders_in
from atbprobe_rules.dump.round_reader import RoundContent, read_round
from atbprobe_rules.dump.statistic_file import AnomalyRow
from atbprobe_rules.dump.stored_names import ProcessName, round_number


@dataclass(eq=False)
class Round:
    """One round of a process: the number is that of its folder, a count of Setups."""

    path: Path
    device: Device

    @property
    def number(self) -> int | None:
        """None for a round that was copied to a folder of another name."""
        return round_number(self.path.name)

    @cached_property
    def name(self) -> str:
        """That of its folder."""
        return self.path.name

    @cached_property
    def process(self) -> str:
        """The name of the folder that it is in: `0_1234`."""
        return self.path.parent.name

    @cached_property
    def _content(self) -> RoundContent:
        return read_round(self)

    @property
    def ops(self) -> list[Op]:
        """The layer-level operations, in the order in which they began."""
        return self._content.ops

    @property
    def tensors(self) -> list[StoredTensor]:
        """All tensors, in the order of execution."""
        return self._content.tensors

    @property
    def anomalies(self) -> tuple[AnomalyRow, ...]:
        """The rows of anomaly.csv; none if there is no such file."""
        return self._content.anomalies

    @property
    def problems(self) -> tuple[DumpError, ...]:
        """What could not be read: rows, folders."""
        return self._content.problems

    def walk(self) -> Iterator[Op]:
        """Yield all operations, parents before children."""
        for op in self.ops:
            yield from op.walk()

    def find(
        self, ids: str | None = None, name: str | None = None, io: str | None = None, index: int | None = None
    ) -> list[StoredTensor]:
        """Return the tensors, in the order of execution, of the op with this id path or name (or both).

        `name` is that of the op itself, or its path of names; `*`, `?` and `[…]` are wildcards. `io` is `input` or
        `output`, `index` the number of the tensor.
        """
        return [tensor for tensor in self.tensors if matches(tensor, ids, name, io, index)]

    def __getitem__(self, ids: str) -> Op:
        """The op with this id path."""
        for op in self.walk():
            if op.ids == ids:
                return op
        raise KeyError(ids)

    def __repr__(self) -> str:
        return f"<Round {_name(self.path)} of {_name(self.path.parent)}, {len(self.tensors):,} tensors>"

    def _repr_html_(self) -> str:
        return round_html(self)


@dataclass(eq=False)
class Device:
    """What one process has dumped from one device: `data/<device>_<pid>`."""

    path: Path
    name: ProcessName | None
    only_round: Path | None = None
    """The folder of the only round that was opened."""

    @property
    def number(self) -> int | None:
        """The device; -1 if the host did not know it, None if the folder is called otherwise."""
        return None if self.name is None else self.name.device

    @property
    def pid(self) -> int | None:
        return None if self.name is None else self.name.pid

    @cached_property
    def rounds(self) -> list[Round]:
        """By number. What is read of one stays in memory."""
        if self.only_round is not None:
            return [Round(self.only_round, self)]
        numbered = [(round_number(path.name), path.name, path) for path in folders_in(self.path)]
        return [Round(path, self) for _, _, path in sorted(entry for entry in numbered if entry[0] is not None)]

    def __getitem__(self, number: int) -> Round:
        """The round of this number."""
        for one in self.rounds:
            if one.number == number:
                return one
        raise KeyError(number)

    def __repr__(self) -> str:
        return f"<Device {_name(self.path)}, {len(self.rounds):,} rounds>"


@dataclass(eq=False)
class Dump:
    """A dump, or the part of one that was opened.

    A single round has one device, which has one round.
    """

    path: Path
    devices: list[Device]

    @property
    def rounds(self) -> Iterator[Round]:
        """All rounds, device by device, each read anew: what was read of one is not kept when the next one comes."""
        return (Round(one.path, device) for device in self.devices for one in device.rounds)

    @property
    def tensors(self) -> Iterator[StoredTensor]:
        """All tensors, round by round, each in the order of execution."""
        return (tensor for one in self.rounds for tensor in one.tensors)

    def find(
        self,
        ids: str | None = None,
        name: str | None = None,
        io: str | None = None,
        index: int | None = None,
        *,
        device: int | None = None,
        round: int | None = None,
    ) -> Iterator[StoredTensor]:
        """Yield tensors as `Round.find` does, of all rounds, or those of this number and device."""
        for one in self.rounds:
            of_device = device in (None, one.device.number)
            if of_device and round in (None, one.number):
                yield from one.find(ids, name, io, index)

    def __repr__(self) -> str:
        return f"<Dump {printable(str(self.path))!r}, {len(self.devices)} devices>"

    def _repr_html_(self) -> str:
        return dump_html(self)


def _name(path: Path) -> str:
    return printable(path.name)


def matches(tensor: StoredTensor, ids: str | None, name: str | None, io: str | None, index: int | None) -> bool:
    """Say whether a tensor is one that `find` was asked for; None asks for nothing."""
    if name is not None and not any(fnmatch.fnmatchcase(text, name) for text in (tensor.op.name, tensor.op.names)):
        return False
    return ids in (None, tensor.op.ids) and io in (None, tensor.io) and index in (None, tensor.index)
