"""What the process tests share: installations, places to dump to, saver drivers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bash_session import Installation
from probed_host import Probed, command
from saver_driver import Driver, StartDriver, running_drivers
from watching import start_watcher

from atbprobe_rules.installation import script_folder


@pytest.fixture
def installation(tmp_path: Path, native_file: Callable[[str], Path]) -> Installation:
    """A copy of the installed scripts and libraries, with a stub for its interpreter."""
    libraries = [native_file(f"libatb_probe_abi{abi}.so") for abi in (0, 1)]
    return Installation.create(tmp_path / "prefix", script_folder(), libraries, sys.executable)


@pytest.fixture(params=[1, 0], ids=["abi1", "abi0"])
def probed_either(request: pytest.FixtureRequest, tmp_path: Path, native_file: Callable[[str], Path]) -> Probed:
    """A place to dump to, for each ABI in turn."""
    return Probed(tmp_path, native_file, abi=request.param)


@pytest.fixture
def probed(tmp_path: Path, native_file: Callable[[str], Path]) -> Probed:
    """A place to dump to."""
    return Probed(tmp_path, native_file)


@pytest.fixture
def start(native_file: Callable[[str], Path], tmp_path: Path) -> Iterator[StartDriver]:
    """Starts saver drivers that end with the test."""
    with running_drivers(native_file("saver_driver"), tmp_path) as start_driver:
        yield start_driver


@pytest.fixture
def driver(start: StartDriver) -> Driver:
    """A saver driver."""
    return start()


@pytest.fixture
def watched(probed: Probed) -> Iterator[Probed]:
    """A config with a watcher in the background, held by this process."""
    start_watcher(probed.config)
    yield probed
    command("stop", "--config", str(probed.config))
