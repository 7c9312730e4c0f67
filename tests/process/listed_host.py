"""Requests to list operations, and a host that executes layers call by call, in the order of the real one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from probed_host import ProbeCaller

from atbprobe_rules.channel import Channel
from atbprobe_rules.channel_layout import BELL_PLACE, SLOT, SLOT_COUNT, SLOTS_OFFSET
from atbprobe_rules.listing.request import OpsRequest, ops_requested

_set_up_rounds = count(10_000)  # which no execution in a test goes by


@dataclass
class ListedHost:
    """Executes on one thread of a caller. The rules select nothing, so whatever is granted is a fault.

    A layer is a graph with one operation that calls one kernel.
    """

    caller: ProbeCaller
    thread: int = 0
    head: str = "0_1"

    def set_up(self) -> None:
        """Ask as a set-up in a new round does. By this, at the latest, a thread hears of a request."""
        if self._call("IsExecuteCountInRange", next(_set_up_rounds)):
            assert not self._call("IsSaveTiling")

    def layer(self, number: int, round_number: int = 0, name: str = "Layer") -> None:
        """Execute a layer."""
        self.begin_layer(number, round_number, name)
        self.operation(round_number, f"{self.head}/{round_number}/{number}_{name}/0_Add", f"Add_{number}_0")
        self.end_layer(number, round_number, name)

    def begin_layer(self, number: int, round_number: int = 0, name: str = "Layer") -> None:
        """Ask what the host asks at the beginning of a layer."""
        self.ask_pass(round_number, f"{self.head}/{round_number}/{number}_{name}", "Before")

    def end_layer(self, number: int, round_number: int = 0, name: str = "Layer") -> None:
        """Ask what the host asks at its end."""
        layer = f"{self.head}/{round_number}/{number}_{name}"
        self.ask_pass(round_number, layer, "After")
        self._ask_param(round_number, layer)
        self._call("ReportOperationIOTensorEnable")

    def operation(self, round_number: int, directory: str, name: str) -> None:
        """Execute an operation and its kernel."""
        self.ask_pass(round_number, directory, "Before")
        self._kernel(round_number, directory)
        self.ask_pass(round_number, directory, "After")
        self._ask_param(round_number, directory)
        if self._call("ReportOperationIOTensorEnable"):
            self._report("ReportOperationIOTensor", round_number, directory, name)

    def ask_pass(self, round_number: int, directory: str, side: str) -> None:
        """Ask whether the tensors of an operation are to be saved."""
        asked = self._call("IsExecuteCountInRange", round_number) and self._call("IsSaveTensorInSpecificDir", directory)
        assert not (asked and self._call(f"IsSaveTensor{side}")), "the host would copy"

    def _kernel(self, round_number: int, directory: str) -> None:
        self._ask_kernel_pass(round_number, f"{directory}/0_AddKernel", "Before")
        if self._call("ReportKernelIOTensorEnable"):
            self._report("ReportKernelIOTensor", round_number, directory, "ElewiseOperation")
        self._ask_kernel_pass(round_number, f"{directory}/0_AddKernel", "After")

    def _report(self, function: str, round_number: int, directory: str, name: str) -> None:
        side = "before" if self._call("IsSaveTensorBefore") else "after"
        tensor = f"float16;nd;2,3;{directory}/{side}"
        self._call(function, round_number, name, f"{tensor}/intensor0.bin", f"{tensor}/outtensor0.bin")

    def _ask_kernel_pass(self, round_number: int, directory: str, side: str) -> None:
        asked = self._call("IsExecuteCountInRange", round_number) and self._call(f"IsSaveTensor{side}")
        assert not (asked and self._call("IsSaveTensorInSpecificDir", directory)), "the host would copy"

    def _ask_param(self, round_number: int, directory: str) -> None:
        asked = self._call("IsExecuteCountInRange", round_number) and self._call("IsSaveTensorInSpecificDir", directory)
        assert not (asked and self._call("IsSaveParam")), "the host would give its parameters"

    def _call(self, function: str, *arguments: object) -> bool | None:
        return self.caller.call(function, *arguments, thread=self.thread)


@contextlib.contextmanager
def request_heard(host: ListedHost, channel: Channel, rounds: int = 1) -> Iterator[OpsRequest]:
    """Ask for operations, and let the host's thread hear of it between two layers."""
    with ops_requested(channel, rounds) as request:
        host.set_up()
        yield request


def bells(channel: Channel) -> int:
    """Return how often a request was made known to processes; it grows with each request."""
    slots = np.fromfile(channel.folder / "control", SLOT, SLOT_COUNT, offset=SLOTS_OFFSET)
    return int(slots["mailbox"][:, BELL_PLACE].sum())
