"""How editors, scripts and Kubernetes change a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Edit = Callable[[Path, str], None]


def truncate_and_write(config: Path, text: str) -> None:
    config.write_text(text, encoding="utf-8")


def write_beside_and_rename(config: Path, text: str) -> None:
    beside = config.with_name(".config.json.swp")
    beside.write_text(text, encoding="utf-8")
    beside.chmod(0o644)
    beside.replace(config)


def delete_and_create(config: Path, text: str) -> None:
    config.unlink()
    config.write_text(text, encoding="utf-8")


def move_away_and_create(config: Path, text: str) -> None:
    config.rename(config.with_name("config.json~"))
    config.write_text(text, encoding="utf-8")


def move_to_another_folder_and_put_one_back(config: Path, text: str) -> None:
    """Two moves that nobody sees the other end of."""
    folder = config.parent.parent / f"{config.parent.name}-elsewhere"
    folder.mkdir(exist_ok=True)
    config.rename(folder / "old.json")
    fresh = folder / "new.json"
    fresh.write_text(text, encoding="utf-8")
    fresh.rename(config)


def swap_a_link(config: Path, text: str) -> None:
    """As a ConfigMap is updated: config.json -> ..data/config.json, ..data -> a folder of the day."""
    folder = config.parent
    version = folder / f"..version{len(list(folder.iterdir()))}"
    version.mkdir()
    (version / "config.json").write_text(text, encoding="utf-8")
    fresh = folder / "..data_new"
    fresh.symlink_to(version.name)
    fresh.rename(folder / "..data")
    if not config.is_symlink():
        config.unlink(missing_ok=True)
        config.symlink_to("..data/config.json")


EDITS: list[Edit] = [
    truncate_and_write,
    write_beside_and_rename,
    delete_and_create,
    move_away_and_create,
    move_to_another_folder_and_put_one_back,
    swap_a_link,
]
