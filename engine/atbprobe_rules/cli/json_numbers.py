"""Numbers that JSON does not have."""

from __future__ import annotations

import math


def json_number(value: float | complex | None) -> object:
    """Return a value for json.dumps: `"nan"`, `"inf"` and `"-inf"` as text, complex numbers as `[re, im]`."""
    if isinstance(value, complex):
        return [json_number(value.real), json_number(value.imag)]
    if value is None or isinstance(value, int) or math.isfinite(value):
        return value
    return str(float(value))
