"""One round of a dump, with references followed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Stored:
    """A .bin: what its header says, and its data or where that lies."""

    format: str
    dtype: str
    dims: str
    data: bytes
    reference: str = ""

    @classmethod
    def read(cls, path: Path) -> Stored:
        """Fail unless every line of the header is in its place."""
        head, end, data = path.read_bytes().partition(b"\n$End=1\n")
        assert end, path
        version, count, length, form, dtype, dims, place = head.decode().split("\n")
        values = form.partition("=")[2], dtype.partition("=")[2], dims.partition("=")[2]
        assert [line.partition("=")[0] for line in (form, dtype, dims)] == ["format", "dtype", "dims"]
        assert version == "$Version=1.0"
        if place.startswith("data="):
            assert (count, length, data) == ("$Object.Count=0", "$Object.Length=0", b"")
            return cls(*values, b"", place.removeprefix("data="))
        assert (count, length) == ("$Object.Count=1", f"$Object.Length={len(data)}")
        assert place == f"$Object.data=0,{len(data)}"
        return cls(*values, data)


@dataclass(frozen=True)
class StoredRound:
    """Files by their path below the round's folder, and what references call them."""

    files: dict[str, Stored]

    @classmethod
    def read(cls, folder: Path) -> StoredRound:
        paths = [path for path in sorted(folder.rglob("*.bin")) if path.is_file() and path.name[0] != "."]
        return cls({str(path.relative_to(folder)): Stored.read(path) for path in paths})

    @property
    def references(self) -> dict[str, str]:
        return {path: file.reference for path, file in self.files.items() if file.reference}

    def resolve(self, path: str) -> Stored:
        """Return the file with the data of `path`; fails unless there is exactly one, of this dtype and shape."""
        file = self.files[path]
        if not file.reference:
            return file
        (home,) = [self.files[other] for other in self.files if reference_to(other) == file.reference]
        assert not home.reference, f"{path} refers to a reference"
        assert (home.dtype, home.dims) == (file.dtype, file.dims), path
        return home


def reference_to(path: str) -> str:
    *components, _, name = path.split("/")
    return "_".join([*(component.partition("_")[0] for component in components), name])
