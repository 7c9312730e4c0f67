"""Where the published library is, or why it is not here: what benchmarks and tests run beside ours.

`make peer` puts the package into build/peer; nothing of it is ever installed or imported here. Its command line, which
needs PyTorch and more, runs in an environment of its own.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "build" / "peer"
# The same package with all that it needs, in an environment of its own: `make peer-environment`.
ENVIRONMENT = FOLDER.with_name("peer-environment")
ENVIRONMENT_FAILURE = FOLDER.with_name("peer-environment-not-made")
# Left by `make peer` in place of the package: what pip said.
FAILURE = FOLDER.with_name("peer-not-fetched")


def peer_library(abi: int) -> Path:
    return FOLDER / "msprobe" / "lib" / f"libatb_probe_abi{abi}.so"


def is_here() -> bool:
    return all(peer_library(abi).is_file() for abi in (0, 1))


def reason_for_absence() -> str:
    if FAILURE.is_file():
        return f"the published package could not be fetched: {FAILURE.read_text(encoding='utf-8').strip()}"
    return "the published package is not in build/peer: `make peer` fetches it"


def peer_program(name: str) -> Path:
    """Return a program of the environment: `python`, `msprobe`."""
    return ENVIRONMENT / "bin" / name


def command_line_is_here() -> bool:
    return (ENVIRONMENT / ".installed").is_file()


def reason_for_absence_of_command_line() -> str:
    if ENVIRONMENT_FAILURE.is_file():
        said = ENVIRONMENT_FAILURE.read_text(encoding="utf-8").strip()
        return f"the published package could not be installed with what it needs: {said}"
    return "the published package with what it needs is not in build/peer-environment: `make peer-environment`"
