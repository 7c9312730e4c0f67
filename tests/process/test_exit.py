"""The end of a process that dumps."""

from __future__ import annotations

import subprocess

from probed_host import WAIT_SECONDS, Probed

DATA_BYTES = 4096


def test_a_process_ends_though_its_threads_go_on_saving(probed: Probed) -> None:
    """What came before the end is written; nobody waits for what still comes."""
    probed.publish({"dump_enable": True, "exec_range": "all"})
    probed.extra_environment["ATBPROBE_QUEUE_BYTES"] = "4 MiB"
    host = probed.native_file("exit_while_saving")
    done = subprocess.run([host], env=probed.environment(), capture_output=True, timeout=WAIT_SECONDS, check=False)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr

    tensors = [path for path in probed.data.rglob("*.bin") if not path.name.startswith(".")]
    assert len(tensors) >= 2000
    assert all(path.read_bytes().endswith(b"$End=1\n" + b"x" * DATA_BYTES) for path in tensors)
