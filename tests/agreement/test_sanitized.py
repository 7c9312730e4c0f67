"""Verifier and evaluator under the sanitizers: whatever the verifier accepts, the evaluator runs within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
TESTS = ["test_damage.py", "test_engines.py", "test_language.py", "test_conformance.py"]


@pytest.mark.soak
@pytest.mark.needs_gcc
@pytest.mark.timeout(1800)
def test_agreement_under_address_and_undefined_behaviour_sanitizers(tmp_path: Path) -> None:
    build = tmp_path / "build"
    configure = ["cmake", "-S", REPOSITORY, "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"]
    sanitized = ["-DATBPROBE_SANITIZER=address,undefined", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    subprocess.run([*configure, *sanitized], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", build], check=True, capture_output=True)
    runtime = subprocess.run(["g++", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True).stdout
    environment = {
        **os.environ,
        "LD_PRELOAD": runtime.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # so that every object has its own bounds
        "ATBPROBE_TEST_NATIVE": str(build / "native"),
    }
    tests = [Path(__file__).parent / name for name in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert " passed" in done.stdout
