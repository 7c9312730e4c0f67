"""The package as a user gets it: a source archive, its wheel, and an environment with that wheel."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent


def run_python(*arguments: str | Path, directory: Path) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    build = "import sys, scikit_build_core.build as backend; backend.build_sdist(sys.argv[1])"
    run_python("-c", build, folder, directory=REPOSITORY)
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="session")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source archive, so that a file missing there shows."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir")
    run_python(*pip, folder, sdist, directory=folder)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="session")
def installed_prefix(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; what it depends on is seen in that of these tests."""
    prefix = tmp_path_factory.mktemp("installed")
    venv.create(prefix, symlinks=True)
    python = prefix / "bin/python"
    pip = ("-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    run_python(*pip, wheel, directory=prefix)
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    # Searched last, and its .pth files are not read, so that nothing editable comes along.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return prefix
