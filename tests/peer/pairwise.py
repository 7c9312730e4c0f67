"""Combinations of factors in which every two values of two factors meet at least once.

Greedy: each new combination starts from a pair that is still missing, and every other factor takes the value that adds
most missing pairs to what is there already. The same factors always give the same combinations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

Setting = tuple[str, str]  # a factor and the name of its value


def pairwise(factors: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return the combinations, each a value for every factor."""
    missing = {
        frozenset(((first, a), (second, b)))
        for first, second in combinations(factors, 2)
        for a, b in product(factors[first], factors[second])
    }
    found = []
    while missing:
        combination = dict(min(missing, key=sorted))
        for factor, values in factors.items():
            if factor not in combination:
                combination[factor] = max(values, key=lambda value: _gain(combination, (factor, value), missing))
        missing -= {frozenset(pair) for pair in combinations(combination.items(), 2)}
        found.append({factor: combination[factor] for factor in factors})
    return found


def _gain(combination: Mapping[str, str], setting: Setting, missing: set[frozenset[Setting]]) -> int:
    return sum(frozenset((setting, other)) in missing for other in combination.items())
