"""Where the published library is, or why it is not here: what benchmarks and tests run beside ours.

`make peer` puts the package into build/peer; nothing of it is ever installed or imported.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "build" / "peer"
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
