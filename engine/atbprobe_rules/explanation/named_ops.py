"""Which ops of a catalogue a word names: a directory, a path, an id path or a name."""

from __future__ import annotations

import re

from atbprobe_rules.catalogue.ops import UNKNOWN_HEAD, Catalogue, CatalogueBuilder, key_of, names_of

_IDS = re.compile(r"[0-9]+(?:_[0-9]+)*")
_PATH = re.compile(rb"[0-9]+_[^/]+(?:/[0-9]+_[^/]+)*")


def find_ops(catalogue: Catalogue, word: str) -> list[int]:
    """Return the indices of the ops that `word` names, by the first of these readings that finds any.

    A directory as the host has it, a path with or without the process in front, an id path, names from any op on the
    way down to the op (letter case does not count), the same with the last name cut short, and a piece of its name.
    """
    raw = word.encode("utf-8", "surrogateescape")
    paths = {raw, raw.split(b"/", 2)[-1]}
    found = [index for index, op in enumerate(catalogue.ops) if b"/".join((op.head, op.path)) == raw]
    found = found or [
        index
        for index, op in enumerate(catalogue.ops)
        if op.path in paths and (op.path == raw or raw.startswith(op.head + b"/"))
    ]
    if not found and _IDS.fullmatch(word):
        key = tuple(raw.split(b"_"))
        found = [index for index, op in enumerate(catalogue.ops) if key_of(op.path) == key]
    if found:
        return found
    wanted = word.lower().split("/")
    cut_short, within = [], []
    for index, op in enumerate(catalogue.ops):
        names = [name.lower() for name in names_of(op.path)][-len(wanted) :]
        if names == wanted:
            found.append(index)
        elif names[:-1] == wanted[:-1] and names[-1].startswith(wanted[-1]):
            cut_short.append(index)
        elif len(wanted) == 1 and wanted[0] in names[-1]:
            within.append(index)
    return found or cut_short or within


def catalogue_of_word(word: str) -> Catalogue | None:
    """Return a catalogue of the op that a directory or a path names in full; None if it does not."""
    raw = word.encode("utf-8", "surrogateescape")
    builder = CatalogueBuilder()
    builder.add_source(word)
    parts = raw.split(b"/", 2)
    if len(parts) == 3 and not _PATH.fullmatch(raw):
        builder.add_directory(raw)
    elif _PATH.fullmatch(raw) and not _IDS.fullmatch(word):
        builder.add_op(UNKNOWN_HEAD, raw)
        builder.notes.append("the device is not known: name the operation as <device>_<pid>/<round>/<path>")
    else:
        return None
    return builder.build()
