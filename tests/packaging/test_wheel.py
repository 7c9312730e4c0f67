"""What is in the source archive and the wheel, and that the wheel alone is enough."""

from __future__ import annotations

import re
import subprocess
import tarfile
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest

# The first test waits for the build of everything, on a machine that may have other things to do.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REPOSITORY = Path(__file__).parent.parent.parent
VERSION = metadata.version("atbprobe-rules")


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_one_wheel_serves_every_python_of_a_platform(wheel: Path) -> None:
    assert re.fullmatch(rf"atbprobe_rules-{re.escape(VERSION)}-py3-none-linux_\w+\.whl", wheel.name)


def test_the_wheel_holds_libraries_scripts_and_grammars(wheel_names: list[str]) -> None:
    expected = {"py.typed", "explanation/page.html", "lib/libatb_probe_abi0.so", "lib/libatb_probe_abi1.so"}
    expected |= {
        f"scripts/atb/{name}"
        for name in (
            "load_atb_probe.sh",
            "unload_atb_probe.sh",
            "probe_environment.sh",
            "config_example.json",
        )
    }
    grammars = {f"grammar/{path.name}" for path in (REPOSITORY / "grammar").glob("*.lark")}
    assert grammars
    assert {f"atbprobe_rules/{name}" for name in expected | grammars} <= set(wheel_names)


def test_the_wheel_holds_every_module(wheel_names: list[str]) -> None:
    engine = REPOSITORY / "engine"
    modules = {path.relative_to(engine).as_posix() for path in engine.rglob("*.py")}
    assert modules <= set(wheel_names)


def test_the_wheel_holds_nothing_else(wheel_names: list[str]) -> None:
    folders = {PurePosixPath(name).parts[0] for name in wheel_names}
    assert folders == {"atbprobe_rules", f"atbprobe_rules-{VERSION}.dist-info"}
    endings = {PurePosixPath(name).suffix for name in wheel_names if name.startswith("atbprobe_rules/")}
    assert endings <= {".py", ".typed", ".so", ".sh", ".json", ".lark", ".html", ".md", ""}


def test_the_metadata_name_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        prefix = f"atbprobe_rules-{VERSION}.dist-info"
        fields = Parser().parsestr(archive.read(f"{prefix}/METADATA").decode())
        assert f"{prefix}/licenses/LICENSE" in archive.namelist()
    needed = {re.match(r"[\w-]+", line)[0] for line in fields.get_all("Requires-Dist")}  # type: ignore[index]
    described = {"lark", "numpy", "watchdog", "click", "ml_dtypes", "safetensors", "rich", "XlsxWriter"}
    assert needed == described


def test_the_source_archive_can_be_tested(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {PurePosixPath(name).relative_to(f"atbprobe_rules-{VERSION}").as_posix() for name in archive.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "CMakeLists.txt",
        "Makefile",
        "tests/conftest.py",
    } <= names
    assert not {name for name in names if name.startswith((".venv", "build/", ".git"))}


def test_the_commands_work_from_the_wheel(installed_prefix: Path) -> None:
    def answer(*arguments: str) -> Path:
        command = [installed_prefix / "bin/atbprobe-rules", *arguments]
        return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())

    scripts = answer("scripts")
    assert scripts.is_relative_to(installed_prefix)
    assert (scripts / "load_atb_probe.sh").is_file()
    for abi in ("0", "1"):
        assert answer("lib", "--abi", abi) == scripts.parent.parent / f"lib/libatb_probe_abi{abi}.so"


def test_the_scripts_ask_for_the_version_they_came_with(installed_prefix: Path) -> None:
    (script,) = installed_prefix.rglob("probe_environment.sh")
    assert f"version={VERSION}" in script.read_text().splitlines()
