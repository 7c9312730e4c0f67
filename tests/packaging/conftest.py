"""The package as a user gets it: a source archive, its wheel, and an environment with that wheel."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

GLIBC_NEEDS = pytest.StashKey[dict[str, str]]()
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


@pytest.fixture
def glibc_needs(request: pytest.FixtureRequest) -> dict[str, str]:
    """Library → the newest glibc symbol version that it needs, told at the end of the run."""
    return request.config.stash.setdefault(GLIBC_NEEDS, {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    needs = config.stash.get(GLIBC_NEEDS, {})
    if needs:
        terminalreporter.section("newest glibc symbol version needed")
        for library, need in sorted(needs.items()):
            terminalreporter.line(f"{library}: {need}")
