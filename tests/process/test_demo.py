"""The demo runs to its end, whatever it finds on the way, and leaves nothing running."""

from __future__ import annotations

from pathlib import Path

import pytest
from probed_host import command


@pytest.mark.slow
def test_the_demo_ends_with_the_operation_that_is_faulty(tmp_path: Path) -> None:
    for _ in range(2):  # the second one finds the dumps of the first
        shown = command("demo", "--keep", str(tmp_path)).stdout
        assert "new rules taken" in shown
        assert "first operation that differs: 2_Prefill_layer/4_Mlp/1_ActivationOperation" in shown
        assert "464 tensors compared" in shown
    assert (tmp_path / "comparison" / "compare_result.csv").is_file()
