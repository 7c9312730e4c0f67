"""How many bytes a tensor has, by the name of its type and its shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from atbprobe_rules.dump.element_types import ELEMENT_TYPES, ElementType, element_type_of


def bytes_of(dtype: str, shape: Sequence[int] | None) -> int | None:
    """Return the bytes of data of a tensor; None if type or shape are not known.

    Types of fewer than eight bits may be packed or not: the larger of both is returned.
    """
    kind = _by_name().get(dtype)
    if kind is None or shape is None or kind.bits == 0:
        return None
    return kind.unpacked_bytes(math.prod(shape))


def type_name(number: int) -> str:
    """Return the name that statistic.csv has for a type."""
    return element_type_of(number).name


@cache
def _by_name() -> dict[str, ElementType]:
    return {kind.name: kind for kind in ELEMENT_TYPES.values()}
