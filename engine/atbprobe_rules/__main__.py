"""``python -m atbprobe_rules`` is the command ``atbprobe-rules``."""

from __future__ import annotations

from atbprobe_rules.cli.main import main

main()
