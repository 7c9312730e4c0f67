"""Which part of a dump a folder is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from atbprobe_rules.dump.dump_error import DumpError
from atbprobe_rules.dump.plain_files import folders_in
from atbprobe_rules.dump.statistic_file import STATISTIC_FILE
from atbprobe_rules.dump.stored_names import OpComponent, ProcessName, round_number
from atbprobe_rules.dump.tree import Device, Dump


def open_dump(path: str | os.PathLike[str]) -> Dump:
    """Open a dump for reading: `atb_dump_data`, the folder it is in, its `data`, or one device or round of it.

    Only the names of devices are read at once. Raises DumpError if the folder is none of these.
    """
    given = folder = Path(path)
    for name in ("atb_dump_data", "data"):
        if (folder / name).is_dir() and not _is_round(folder, ()):
            folder = folder / name
    children = [] if (folder / STATISTIC_FILE).is_file() else folders_in(folder)
    if _is_device(folder, children):
        return Dump(given, [Device(folder, ProcessName.of_folder(folder.name))])
    if _is_round(folder, children):
        device = Device(folder.parent, ProcessName.of_folder(folder.parent.name), only_round=folder)
        return Dump(given, [device])
    named = [(child, ProcessName.of_folder(child.name)) for child in children]
    processes = [Device(child, process) for child, process in named if process is not None]
    if not processes and (children or folder.name != "data"):
        raise DumpError(given, "this is no dump: neither atb_dump_data, nor its data, nor a device or a round of it")
    return Dump(given, sorted(processes, key=_device_order))


def _is_device(folder: Path, children: Iterable[Path]) -> bool:
    has_rounds = any(round_number(child.name) is not None for child in children)
    return has_rounds and not (folder / STATISTIC_FILE).is_file()


def _is_round(folder: Path, children: Iterable[Path]) -> bool:
    if (folder / STATISTIC_FILE).is_file():
        return True
    if round_number(folder.name) is not None and ProcessName.of_folder(folder.parent.name) is not None:
        return True
    named = [OpComponent.of_folder(child.name) for child in children]
    return any(part.id is not None and ProcessName.of_folder(part.folder) is None for part in named)


def _device_order(device: Device) -> tuple[int, int, str]:
    assert device.name is not None
    return (device.name.device, device.name.pid, device.name.suffix)
