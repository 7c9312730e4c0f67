"""Rules for dumping what the operations of an ATB model compute: parsed, checked, decided, published.

    checked = parse_config('{"dump_enable": true, "ids": "2_1"}', "config.json")
    selection = checked.require()

    with Watcher("/path/to/config.json"):
        ...  # its rules, and every edit of them, are in force in the processes that have the probe loaded

    tensor = load("atb_dump_data/data/0_1234/0/2_Prefill_layer/after/outtensor0.bin")
    for stored in open_dump("atb_dump_data").tensors:
        ...  # in the order of execution

Importing the package costs next to nothing; the parser is built with the first config, and numpy comes with the first
tensor.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from atbprobe_rules.check import CheckedConfig, ConfigError
    from atbprobe_rules.dump.dump_error import DumpError
    from atbprobe_rules.dump.tensor import Tensor
    from atbprobe_rules.dump.tree import Dump
    from atbprobe_rules.watch import AlreadyWatchedError, Watcher

__all__ = [
    "AlreadyWatchedError",
    "CheckedConfig",
    "ConfigError",
    "Dump",
    "DumpError",
    "Tensor",
    "Watcher",
    "__version__",
    "load",
    "open_dump",
    "parse_config",
]

_PLACES = {
    "CheckedConfig": "check",
    "ConfigError": "check",
    "Dump": "dump.tree",
    "DumpError": "dump.dump_error",
    "Tensor": "dump.tensor",
    "AlreadyWatchedError": "watch",
    "Watcher": "watch",
}
"""Public names that are imported when they are first asked for, and their modules."""


def parse_config(text: str | bytes, filename: str = "<string>") -> CheckedConfig:
    """Check the text of a config; `filename` is what diagnostics call it.

    Never raises on account of the text: see the result's `ok`, `diagnostics` and `require()`.
    """
    from atbprobe_rules.check import check_config

    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return check_config(data, filename)


def load(path: str | os.PathLike[str]) -> Tensor:
    """Open a .bin of a dump; a reference gives the tensor that it stands for. numpy takes the result for an array.

    Raises DumpError, with file, offset and reason, for one that is damaged or is no .bin; OSError if it cannot be
    read. The elements are read when they are first asked for.
    """
    from atbprobe_rules.dump import tensor

    return tensor.load(path)


def open_dump(path: str | os.PathLike[str]) -> Dump:
    """Open a dump: `atb_dump_data`, the folder it is in, its `data`, or one device or round of it.

    Only the names of devices are read at once. Raises DumpError if the folder is none of these.
    """
    from atbprobe_rules.dump import open_dump

    return open_dump.open_dump(path)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _installed_version()
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _installed_version() -> str:
    """Return the version of the installed distribution; the files alone, uninstalled, have none."""
    from importlib import metadata

    try:
        return metadata.version("atbprobe-rules")
    except metadata.PackageNotFoundError:
        return "0+uninstalled"
