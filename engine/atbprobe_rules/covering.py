"""Whether one term, filter or rule takes everything that another one takes.

Every answer is safe for a warning: yes is always right, and no can also mean that it was not found out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from atbprobe_rules.selection import (
    MAX_NUMBER,
    AnyCharacter,
    AnyCharacters,
    AnyDepth,
    CharacterSet,
    IdTerm,
    Literal,
    NameAtom,
    NamePart,
    NameTerm,
    NumberFilter,
    NumberRange,
    Rule,
    Tasks,
)

_MOST_STRIDES = 64
"""Ranges with a step are compared one by one, and no more of them."""

# ---- numbers ----


def range_covers(cover: NumberRange, numbers: NumberRange) -> bool:
    """Tell whether every number of `numbers` is in `cover`."""
    if not (cover.first <= numbers.first and numbers.last <= cover.last):
        return False
    is_single = numbers.first + numbers.step > numbers.last
    return (numbers.first - cover.first) % cover.step == 0 and (is_single or numbers.step % cover.step == 0)


def filter_covers(cover: NumberFilter, numbers: NumberFilter) -> bool:
    """Tell whether `cover` accepts what `numbers` accepts, the unknown device included."""
    if not cover.unlimited and (numbers.unlimited or not _all_in(numbers.included, cover.included)):
        return False
    return _all_in(cover.excluded, numbers.excluded)


def accepts_no_number(numbers: NumberFilter) -> bool:
    """Tell whether a filter accepts no number at all."""
    everything = NumberRange(0, MAX_NUMBER, 1, numbers.excluded[0].span) if numbers.excluded else None
    included = (everything,) if numbers.unlimited and everything is not None else numbers.included
    return not (numbers.unlimited and everything is None) and _all_in(included, numbers.excluded)


def _all_in(ranges: Iterable[NumberRange], covers: Sequence[NumberRange]) -> bool:
    joined = list(_joined(covers))
    starts = [cover.first for cover in joined]
    strides = [cover for cover in covers if cover.step > 1][:_MOST_STRIDES]

    def is_in(numbers: NumberRange) -> bool:
        place = bisect_right(starts, numbers.first)
        near = joined[place - 1 : place]
        return any(range_covers(cover, numbers) for cover in (*near, *strides))

    return all(map(is_in, ranges))


def _joined(ranges: Iterable[NumberRange]) -> Iterator[NumberRange]:
    """Join the ranges without gaps where they touch."""
    current: NumberRange | None = None
    for numbers in sorted((r for r in ranges if r.step == 1 or r.first == r.last), key=lambda r: (r.first, r.last)):
        if current is not None and numbers.first <= current.last + 1:
            current = NumberRange(current.first, max(current.last, numbers.last), 1, current.span)
            continue
        if current is not None:
            yield current
        current = NumberRange(numbers.first, numbers.last, 1, numbers.span)
    if current is not None:
        yield current


# ---- id paths ----


def ids_cover(cover: IdTerm, term: IdTerm, cover_below: bool, term_below: bool) -> bool:
    """Tell whether the ops of `term` are all ops of `cover`; `..._below` says that all below belong to it."""
    if len(cover.components) > len(term.components):
        return False
    if not cover_below and (term_below or len(cover.components) < len(term.components)):
        return False
    return all(map(range_covers, cover.components, term.components))


# ---- names ----

_Item = Literal | AnyCharacter | CharacterSet | AnyCharacters
"""Of a pattern: one character, or `*`."""

_ANY = AnyCharacters()
_LAST_CHARACTER = 0x10FFFF


def names_cover(cover: NameTerm, term: NameTerm, cover_below: bool, term_below: bool) -> bool:
    """Tell whether the ops of `term` are all ops of `cover`; `..._below` says that all below belong to it."""
    cover_below = cover_below or isinstance(cover.parts[-1], AnyDepth)
    if takes_everything(cover):
        return True
    if term_below and not cover_below:
        return False
    if len(cover.parts) == 1 and not cover.anchored:
        # One name: of the op itself, or with all below of any op above it.
        last = len(term.parts) - 1
        candidates = range(len(term.parts)) if cover_below else (last,)
        return any(_part_covers(cover, 0, term, index) for index in candidates)
    return (
        len(cover.parts) == len(term.parts)
        and (term.anchored or not cover.anchored)
        and all(_part_covers(cover, index, term, index) for index in range(len(cover.parts)))
    )


def takes_everything(term: NameTerm) -> bool:
    """Tell whether a term takes every op, such as `**`."""
    parts = [part for part in term.parts if isinstance(part, NamePart)]
    if not parts:
        return True
    return len(parts) == 1 and len(term.parts) == 1 and not term.anchored and parts[0].atoms == (_ANY,)


def _part_covers(cover: NameTerm, cover_index: int, term: NameTerm, index: int) -> bool:
    cover_part, part = cover.parts[cover_index], term.parts[index]
    if isinstance(cover_part, AnyDepth) or isinstance(part, AnyDepth):
        return isinstance(cover_part, AnyDepth) and isinstance(part, AnyDepth)
    cover_prefix = cover.prefix and cover_index == len(cover.parts) - 1
    prefix = term.prefix and index == len(term.parts) - 1
    return _pattern_covers(cover_part.atoms, cover_prefix, part.atoms, prefix)


@lru_cache(maxsize=4096)
def _pattern_covers(
    cover: tuple[NameAtom, ...], cover_prefix: bool, pattern: tuple[NameAtom, ...], prefix: bool
) -> bool:
    """Run `cover` over the items of `pattern`: where one can stand for several characters, all must be taken."""
    if len(cover) == len(pattern) == 1 and isinstance(cover[0], Literal) and isinstance(pattern[0], Literal):
        word, covered = cover[0].folded, pattern[0].folded
        return covered.startswith(word) if cover_prefix else covered == word and not prefix
    items = _items(cover, cover_prefix)
    places = _with_skipped(items, {0})
    for item in _items(pattern, prefix):
        stays = {place for place in places if place < len(items) and items[place] == _ANY}
        if item == _ANY:
            places = _with_skipped(items, stays)
            continue
        moves = {place + 1 for place in places if place < len(items) and _item_covers(items[place], item)}
        places = _with_skipped(items, stays | moves)
    return len(items) in places


def _items(atoms: Sequence[NameAtom], prefix: bool) -> list[_Item]:
    items: list[_Item] = []
    for atom in atoms:
        if isinstance(atom, Literal):
            items += [Literal(character.encode()) for character in atom.folded.decode()]
        else:
            items.append(atom)
    return [*items, _ANY] if prefix else items


def _with_skipped(items: Sequence[_Item], places: set[int]) -> set[int]:
    """Add the places behind every `*` that can stand for nothing."""
    reached: set[int] = set()
    for start in places:
        place = start
        reached.add(place)
        while place < len(items) and items[place] == _ANY:
            place += 1
            reached.add(place)
    return reached


def _item_covers(cover: _Item, item: _Item) -> bool:
    """Tell whether one character that `item` takes is always one that `cover` takes; neither is `*`."""
    if isinstance(cover, AnyCharacter) or cover == item:
        return not isinstance(cover, AnyCharacters)
    if not isinstance(cover, CharacterSet) or not isinstance(item, Literal):
        return False
    return item.folded.decode() in cover


# ---- rules ----


def rule_covers(cover: Rule, rule: Rule) -> bool:
    """Tell whether `cover` takes every execution that `rule` takes, and keeps the same of it or more."""
    if not cover.keeps_all_it_selects:
        return False
    if _kept_of(rule, rule.tasks_in) & ~cover.tasks_in or _kept_of(rule, rule.tasks_out) & ~cover.tasks_out:
        return False
    if rule.save_child and not cover.save_child:
        return False  # filter_level acts below the ops of a rule with save_child alone
    if cover.next is not None and (rule.next is None or rule.next > cover.next):
        return False
    if not filter_covers(cover.devices, rule.devices) or not filter_covers(cover.rounds, rule.rounds):
        return False
    return _exclusions_are_shared(cover, rule) and _terms_cover(cover, rule)


def _kept_of(rule: Rule, tasks: Tasks) -> Tasks:
    """Return all that is kept of some tensor: of one beyond `max_tensor_bytes` it is statistics."""
    return tasks | Tasks.STATISTICS if rule.max_tensor_bytes is not None and tasks & Tasks.TENSOR else tasks


def _exclusions_are_shared(cover: Rule, rule: Rule) -> bool:
    id_exclusions = [term for term in rule.ids if term.excluded]
    name_exclusions = [term for term in rule.names if term.excluded]
    return all(
        any(ids_cover(own, term, True, True) for own in id_exclusions) for term in cover.ids if term.excluded
    ) and all(
        any(names_cover(own, term, True, True) for own in name_exclusions) for term in cover.names if term.excluded
    )


def _terms_cover(cover: Rule, rule: Rule) -> bool:
    cover_ids, cover_names = included_terms(cover)
    ids, names = included_terms(rule)
    if not cover_ids and not cover_names:
        if cover.save_child:
            return True
        return not ids and not names and not rule.save_child
    if not ids and not names:
        return not cover.match_all and any(takes_everything(term) for term in cover_names)

    def id_is_covered(term: IdTerm) -> bool:
        below = rule.save_child or term.subtree
        return any(ids_cover(own, term, cover.save_child or own.subtree, below) for own in cover_ids)

    def name_is_covered(term: NameTerm) -> bool:
        below = rule.save_child or isinstance(term.parts[-1], AnyDepth)
        return any(names_cover(own, term, cover.save_child, below) for own in cover_names)

    ids_are_covered = all(map(id_is_covered, ids))
    names_are_covered = all(map(name_is_covered, names))
    if cover.match_all:
        return rule.match_all and ids_are_covered and names_are_covered
    if rule.match_all:
        return ids_are_covered or names_are_covered
    return ids_are_covered and names_are_covered


def comparing_cost(terms: Iterable[IdTerm | NameTerm]) -> int:
    """Return the size of terms; to compare some with others takes at most some 0.2 µs for each product of sizes."""
    return sum(len(term.components) if isinstance(term, IdTerm) else sum(map(_part_size, term.parts)) for term in terms)


def _part_size(part: NamePart | AnyDepth) -> int:
    atoms = part.atoms if isinstance(part, NamePart) else ()
    return 1 + sum(len(atom.folded) if isinstance(atom, Literal) else 1 for atom in atoms)


def included_terms(rule: Rule) -> tuple[list[IdTerm], list[NameTerm]]:
    """Return the id and the name terms that are no exclusions."""
    return [term for term in rule.ids if not term.excluded], [term for term in rule.names if not term.excluded]
