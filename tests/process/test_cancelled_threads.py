"""Threads of the host that are cancelled while they are inside of the probe."""

from __future__ import annotations

import subprocess

import pytest
from probed_host import WAIT_SECONDS, Probed


@pytest.mark.parametrize("where", ["device", "message"])
def test_a_thread_is_cancelled_when_it_is_back_in_the_host(probed: Probed, where: str) -> None:
    probed.publish({"dump_enable": True, "exec_range": "0"})
    done = subprocess.run(
        [probed.native_file("cancelled_threads"), where],
        env=probed.environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["granted", "the host's objects are destroyed", "cancelled", "granted"]
    assert done.stderr.count("Ready to dump ATB data") == 1
