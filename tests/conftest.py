"""What all tests share: where the built files are, a runtime folder each, and the hunt for leftovers."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import psutil
import pytest

from atbprobe_rules.installation import script_folder
from benchmarks import published_peer

REPOSITORY = Path(__file__).parent.parent
BASE_PREFIX = f"atbprobe-tests-{os.getuid()}-"
# Processes that are about to end get this long; only a test that is failing already waits for all of it.
LEFTOVER_GRACE_SECONDS = 10

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("long", max_examples=5000, deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("ATBPROBE_TEST_PROFILE", "ci"))

# Marker → what it needs, and whether that is here.
REQUIREMENTS: dict[str, tuple[str, Callable[[], bool]]] = {
    "needs_gcc": ("g++ is not on PATH", lambda: shutil.which("g++") is not None),
    "needs_clang": ("clang++ is not on PATH", lambda: shutil.which("clang++") is not None),
    "needs_qemu": (
        "qemu-aarch64 or aarch64-linux-gnu-g++ is not on PATH",
        lambda: all(shutil.which(name) for name in ("qemu-aarch64", "aarch64-linux-gnu-g++")),
    ),
    "needs_chromium": (
        "chromium, chromedriver (Debian's chromium-driver) or selenium is missing",
        lambda: (
            all(shutil.which(name) for name in ("chromium", "chromedriver"))
            and importlib.util.find_spec("selenium") is not None
        ),
    ),
    "needs_strace": ("strace is not on PATH", lambda: shutil.which("strace") is not None),
    "peer": (published_peer.reason_for_absence(), published_peer.is_here),
    "peer_command_line": (
        published_peer.reason_for_absence_of_command_line(),
        published_peer.command_line_is_here,
    ),
}


def pytest_configure(config: pytest.Config) -> None:
    """Put the tests' folders into memory where that is possible: they hold tens of thousands of small files."""
    config.stash[WORKER_OUTPUT] = WorkerOutput()
    config.pluginmanager.register(config.stash[WORKER_OUTPUT])
    memory = Path("/dev/shm")
    if config.option.basetemp is None and os.access(memory, os.W_OK):
        folder = tempfile.mkdtemp(prefix=BASE_PREFIX, dir=memory)
        config.option.basetemp = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker, (reason, is_here) in REQUIREMENTS.items():
        marked = [item for item in items if item.get_closest_marker(marker)]
        if marked and not is_here():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count in each worker what the process that prints the summary never sees."""
    if items:
        output = getattr(items[0].config, "workeroutput", {})
        output["deselected"] = output.get("deselected", 0) + len(items)


class WorkerOutput:
    """What the workers of a parallel run have left out: the same in each of them, since all collect everything."""

    def __init__(self) -> None:
        self.deselected = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.deselected = max(self.deselected, getattr(node, "workeroutput", {}).get("deselected", 0))


WORKER_OUTPUT = pytest.StashKey[WorkerOutput]()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run, and why: a green run must not hide that half of it was skipped."""
    skipped = Counter(
        report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else "no reason given"
        for report in terminalreporter.stats.get("skipped", [])
    )
    deselected = (
        len(terminalreporter.stats.get("deselected", [])) or terminalreporter.config.stash[WORKER_OUTPUT].deselected
    )
    if skipped or deselected:
        terminalreporter.section("not run")
        for reason, count in skipped.most_common():
            terminalreporter.line(f"{count} skipped: {reason}")
        if deselected:
            terminalreporter.line(f"{deselected} deselected by -m or -k (`make test` leaves out soak)")


@pytest.fixture(scope="session")
def native_dir() -> Path:
    """The folder of the built libraries and programs.

    That of the installed package, unless ATBPROBE_TEST_NATIVE names a build folder's (``build/tsan/native``).
    """
    chosen = os.environ.get("ATBPROBE_TEST_NATIVE")
    return Path(chosen).resolve() if chosen else script_folder().parent.parent / "lib"


@pytest.fixture(scope="session")
def native_file(native_dir: Path) -> Callable[[str], Path]:
    """Find a built file by name: in native_dir, or (the tests' own programs) in the build folder."""

    def find(name: str) -> Path:
        places = [native_dir, REPOSITORY / "build" / "release" / "native"]
        for place in places:
            if (place / name).is_file():
                return place / name
        raise FileNotFoundError(f"{name} is in none of {', '.join(map(str, places))}: run `make setup`")

    return find


@pytest.fixture(scope="session")
def real_dump(tmp_path_factory: pytest.TempPathFactory, native_file: Callable[[str], Path]) -> Path:
    """The dump of a run with bf16, references, statistics and a NaN, for tests that only read it."""
    from probed_host import Probed, image_of

    probed = Probed(tmp_path_factory.mktemp("real dump"), native_file)
    rules = {"dump_enable": True, "exec_range": "all", "save_child": True, "task": "all", "filter_level": 1}
    probed.write(rules)
    image = probed.folder / "rules.image"
    image.write_bytes(image_of(probed.config))
    image.chmod(0o600)
    probed.extra_environment["ATBPROBE_IMAGE"] = str(image)
    options = ("--layers", "1", "--plain-names", "--always-prefill", "--bf16-layer", "0", "--fault", "LmHead:nan@1")
    with probed.model(*options) as model:
        model.step(2)
    return probed.folder / "atb_dump_data"


@pytest.fixture(autouse=True)
def runtime_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for the channels of this test and of every process it starts."""
    folder = tmp_path_factory.mktemp("runtime")
    folder.chmod(0o700)
    monkeypatch.setenv("ATBPROBE_RUNTIME_DIR", str(folder))
    for name in ("LD_PRELOAD", "ATB_OUTPUT_DIR", "ATB_DUMP_CONFIG", "ATBPROBE_IMAGE", "ATBPROBE_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(autouse=True)
def nothing_left_behind(runtime_dir: Path) -> Iterator[None]:
    """Fail a test that leaves a thread, a process or an entry in shared memory behind."""
    threads_before = set(threading.enumerate())
    shared_before = _shared_memory_entries()
    yield
    leftovers = [f"thread {thread.name}" for thread in set(threading.enumerate()) - threads_before]
    _, alive = psutil.wait_procs(_processes_of(runtime_dir), timeout=LEFTOVER_GRACE_SECONDS)
    for process in alive:
        leftovers.append(f"process {process.pid}: {_command_line(process)}")
        process.kill()
    psutil.wait_procs(alive, timeout=LEFTOVER_GRACE_SECONDS)
    leftovers += [f"shared memory {entry}" for entry in sorted(_shared_memory_entries() - shared_before)]
    assert not leftovers, f"left behind: {'; '.join(leftovers)}"


def _processes_of(runtime_dir: Path) -> list[psutil.Process]:
    """Children, and every process with this test's runtime folder in its environment, detached or not."""
    found = set(psutil.Process().children(recursive=True))
    marker = str(runtime_dir)
    for process in psutil.process_iter():
        try:
            if process.environ().get("ATBPROBE_RUNTIME_DIR") == marker:
                found.add(process)
        except psutil.Error:
            continue  # gone already, or of another user
    found.discard(psutil.Process())
    return list(found)


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "gone by now"


def _shared_memory_entries() -> set[str]:
    """The channels in the default place that belong to configs of these tests; others may be in use."""
    folder = Path(f"/dev/shm/atbprobe-{os.getuid()}")
    entries = folder.iterdir() if folder.is_dir() else ()
    return {entry.name for entry in entries if BASE_PREFIX in _text_of(entry / "watcher.json")}


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
