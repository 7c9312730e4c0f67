"""The calls that a runner makes for one execution of an operation, through a ProbeCaller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from probed_host import ProbeCaller

Tensors = Sequence[npt.NDArray[np.generic] | tuple[int, bytes]]
DTYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "int64": 9,
    "uint64": 10,
    "float64": 11,
    "bool": 12,
    "complex64": 16,
    "complex128": 17,
    "bfloat16": 27,
    "float8_e5m2": 35,
}
"""numpy's and ml_dtypes' names of element types → the host's numbers."""


@dataclass
class RunnerCalls:
    """Executes operations as ATB does, and saves whatever it is let to."""

    host: ProbeCaller
    thread: int = 0

    def ask(self, round_number: int, directory: str, then: str) -> bool:
        call = self.host.call
        return bool(
            call("IsExecuteCountInRange", round_number, thread=self.thread)
            and call("IsSaveTensorInSpecificDir", directory, thread=self.thread)
            and call(then, thread=self.thread)
        )

    def before(self, directory: str, inputs: Tensors, round_number: int = 0) -> bool:
        """The first half of an execution."""
        return self._pass(directory, "IsSaveTensorBefore", "before/intensor", inputs, round_number)

    def after(self, directory: str, outputs: Tensors, round_number: int = 0) -> bool:
        """The second half, without the end."""
        return self._pass(directory, "IsSaveTensorAfter", "after/outtensor", outputs, round_number)

    def end(self, directory: str, round_number: int = 0) -> bool:
        """The parameters, and that the operation is over; tell whether the parameters were wanted."""
        wanted = self.ask(round_number, directory, "IsSaveParam")
        if wanted:
            self.host.call("SaveParam", "{}", f"{directory}/op_param.json", thread=self.thread)
        self.host.call("ReportOperationIOTensorEnable", thread=self.thread)
        return wanted

    def execute(self, directory: str, inputs: Tensors, outputs: Tensors, round_number: int = 0) -> None:
        self.before(directory, inputs, round_number)
        self.after(directory, outputs, round_number)
        self.end(directory, round_number)

    def _pass(self, directory: str, question: str, file: str, tensors: Tensors, round_number: int) -> bool:
        granted = self.ask(round_number, directory, question)
        for index, tensor in enumerate(tensors if granted else []):
            if isinstance(tensor, tuple):
                dtype, data, count = tensor[0], tensor[1], len(tensor[1])
            else:
                dtype, data, count = DTYPES[tensor.dtype.name], tensor.tobytes(), tensor.size
            path = f"{directory}/{file}{index}.bin"
            self.host.save_tensor(path, data, dtype=dtype, dims=str(count), thread=self.thread)
        return granted
