"""Measurements side by side with the published library, in one run on one machine."""

from __future__ import annotations
