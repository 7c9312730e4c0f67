"""The demo's last chapter: two runs of one model, one of them faulty, and the comparison that finds where."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from atbprobe_rules.cli.demo_shell import DemoShell
from atbprobe_rules.errors import AtbprobeError

FAULTY = "2_Prefill_layer/4_Mlp/1_ActivationOperation"
_RULES = {"dump_enable": True, "task": "all", "exec_range": "all", "save_child": True}
_DIFFERS = 1


def compare_two_runs(shell: DemoShell, folder: Path) -> None:
    """Dump both, compare them; raises AtbprobeError if it is not the faulty operation that is named."""
    rules = folder / "everything.json"
    rules.write_text(json.dumps(_RULES) + "\n", encoding="utf-8")
    rules.chmod(0o600)
    for name in ("good", "bad"):  # of another demo in the same folder
        shutil.rmtree(folder / name / "atb_dump_data", ignore_errors=True)
    shell.type("cat everything.json")
    run = "atbprobe-rules run --config everything.json"
    shell.type(f"{run} --output good -- $model --steps 2 --quiet")
    shell.type(f"{run} --output bad -- $model --steps 2 --quiet --fault {FAULTY}:scale=1.1")
    told = shell.type("atbprobe-rules compare good bad -o comparison", _DIFFERS)
    if f"first operation that differs: {FAULTY}" not in told:
        raise AtbprobeError(f"the comparison did not name {FAULTY}")
