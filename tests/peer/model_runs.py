"""Runs of the stand-in's model under either library, those of ours checked against the model's own word."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from expected_dump import check_complete
from library_run import Dump, Library, run_model
from probed_host import NativeFile

Rules = dict[str, Any]
EVERYTHING: Rules = {"dump_enable": True, "filter_level": 0, "exec_range": "all"}


@dataclass
class ModelRuns:
    """Each run has an output folder of its own."""

    folder: Path
    native_file: NativeFile
    count: int = 0

    def __call__(self, library: Library, rules: Rules | str, *options: str, root: str = "output", abi: int = 1) -> Dump:
        """Run the model under the rules, which take all there is unless they say otherwise; `root` is the last name of
        the output folder. Raises DiedError if the peer ends the process."""
        self.count += 1
        folder = self.folder / str(self.count)
        place = library.place(folder / root, self.native_file, abi)
        given = rules if isinstance(rules, str) else {**EVERYTHING, **rules}
        if not library.is_ours:
            return run_model(library, place, given, options)
        assert not isinstance(given, str)
        expectation = folder / "expected"
        dump = run_model(library, place, given, [*options, "--expect", str(expectation)])
        check_complete(dump, given, expectation)
        return dump
