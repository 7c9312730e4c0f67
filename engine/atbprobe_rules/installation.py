"""Where the installed libraries and scripts are.

They are asked of ``importlib.resources``, never derived from ``__file__``: an editable installation keeps
the Python files in the source tree and what CMake built in site-packages.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal

from atbprobe_rules.errors import AtbprobeError

Abi = Literal[0, 1]


def probe_library(abi: Abi) -> Path:
    """Return the preloadable library for one value of ``_GLIBCXX_USE_CXX11_ABI``.

    Raises AtbprobeError when this installation has none, as after copying the Python files alone.
    """
    return _installed(f"lib/libatb_probe_abi{abi}.so")


def comparison_library() -> Path:
    """Return the library with the loops of `compare`; raises AtbprobeError when this installation has none."""
    return _installed("lib/libatbprobe_comparison.so")


def script_folder() -> Path:
    """Return the folder of ``load_atb_probe.sh``; raises AtbprobeError when this installation has none."""
    return _installed("scripts/atb/load_atb_probe.sh").parent


def standin_model(abi: Abi) -> Path:
    """Return the small model on the stand-in host; raises AtbprobeError when this installation has none."""
    return _installed(f"lib/standin_model_abi{abi}")


def _installed(relative: str) -> Path:
    found = resources.files("atbprobe_rules").joinpath(*relative.split("/"))
    path = Path(str(found))
    if not path.is_file():
        raise AtbprobeError(f"{path} is missing: install atbprobe-rules with pip, from a wheel or from source")
    return path
