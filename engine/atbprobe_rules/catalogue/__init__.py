"""Which ops there are: from graphs, dumps, statistics, lists and running processes, joined into one model."""

from __future__ import annotations
