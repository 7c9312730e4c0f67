"""A process whose first operations come on several threads at once."""

from __future__ import annotations

from first_setups import start_together
from probed_host import Probed

STARTS = 200


def test_no_thread_is_refused_while_another_one_starts_the_process(probed_either: Probed) -> None:
    """ATB asks IsTensorNeedSave once and keeps the answer: a no would lose the operation for the whole run."""
    probed_either.publish({"dump_enable": True, "exec_range": "all"})
    assert [start for start in start_together(probed_either, STARTS) if not start.is_good] == []
