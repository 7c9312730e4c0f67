"""Asking running processes which ops they execute, without a copy of a single tensor."""

from __future__ import annotations
