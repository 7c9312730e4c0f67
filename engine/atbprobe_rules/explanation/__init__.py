"""What a config selects, and why, as data: decided by the compiled program, as a process would."""

from __future__ import annotations
