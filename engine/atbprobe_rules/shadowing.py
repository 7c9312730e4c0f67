"""Warnings about terms that change nothing, because another term of the same rule covers all they select.

Literal terms, of which there can be thousands, are looked up by what is shorter; only the others are compared
one by one, and no more than a bounded number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from atbprobe_rules.covering import comparing_cost, ids_cover, names_cover, range_covers
from atbprobe_rules.diagnostics import Code, Diagnostic, Related, Source, Span, quoted, warning
from atbprobe_rules.selection import Condition, ConditionTerm, IdTerm, Literal, NamePart, NameTerm, NumberRange, Rule

LONGEST_NAME = 255
"""Names in the file system are not longer; longer prefixes are not looked into."""

LONGEST_PATH = 64
"""Nor are id paths and name paths of more components, none of which a model has."""

_MOST_COMPARED = 32
_MOST_WORK = 1 << 22
"""For an operand of thousands of terms, or of terms thousands of characters long, the answer would take too long."""


class _Term(Protocol):
    @property
    def span(self) -> Span: ...


TermT = TypeVar("TermT", bound=_Term)
PathTermT = TypeVar("PathTermT", IdTerm, NameTerm)


def shadowed_terms(rules: Sequence[Rule], source: Source) -> Iterator[Diagnostic]:
    """Yield a warning for each term that could be left out in every rule that has it, be it the rule's own or not."""
    filters = {id(numbers): numbers for rule in rules for numbers in (rule.rounds, rule.devices)}
    for numbers in filters.values():
        yield from _shadowed_numbers(numbers.included, source)
        yield from _shadowed_numbers(numbers.excluded, source)
    for ids, children in _with_children((rule.ids, rule.save_child) for rule in rules):
        included, excluded = [t for t in ids if not t.excluded], [t for t in ids if t.excluded]
        yield from _in_all([_shadowed_ids(included, save_child, source) for save_child in children])
        yield from _shadowed_ids(excluded, True, source)
    for names, children in _with_children((rule.names, rule.save_child) for rule in rules):
        included_names, excluded_names = [t for t in names if not t.excluded], [t for t in names if t.excluded]
        yield from _in_all([_shadowed_names(included_names, save_child, source) for save_child in children])
        yield from _shadowed_names(excluded_names, True, source)
    for condition in {id(rule.when): rule.when for rule in rules if rule.when is not None}.values():
        yield from _shadowed_conditions(condition, source)


def _with_children(
    fields: Iterable[tuple[tuple[TermT, ...], bool]],
) -> Iterable[tuple[tuple[TermT, ...], set[bool]]]:
    """Return each field's terms once, however many rules inherit them, with the values of save_child there."""
    found: dict[int, tuple[tuple[TermT, ...], set[bool]]] = {}
    for terms, save_child in fields:
        found.setdefault(id(terms), (terms, set()))[1].add(save_child)
    return found.values()


def _in_all(answers: Sequence[Iterable[Diagnostic]]) -> Iterator[Diagnostic]:
    """Yield what all answers say of a term."""
    first, *others = map(list, answers)
    spans = [{diagnostic.span for diagnostic in other} for other in others]
    return (diagnostic for diagnostic in first if all(diagnostic.span in other for other in spans))


def _shadowed_numbers(ranges: Sequence[NumberRange], source: Source) -> Iterable[Diagnostic]:
    """Look, in the order of their starts, for ranges that end no later than one before them."""
    distinct, repeated = _repeated([(_numbers(r), r) for r in ranges], source)
    yield from repeated
    widest: NumberRange | None = None
    for candidate in sorted(distinct, key=lambda r: (r.first, -r.last, r.step)):
        if widest is not None and range_covers(widest, candidate):
            yield _shadowed(candidate, widest, source)
        elif widest is None or candidate.last > widest.last:
            widest = candidate


def _shadowed_ids(terms: Sequence[IdTerm], save_child: bool, source: Source) -> Iterable[Diagnostic]:
    """With save_child the beginning of an id path covers the path."""
    keyed = [((term.subtree, *(_numbers(r) for r in term.components)), term) for term in terms]
    distinct, repeated = _repeated(keyed, source)
    yield from repeated
    first = {tuple(_numbers(r) for r in term.components): term for term in distinct if term.subtree or save_child}
    plain: list[IdTerm] = []
    for term in distinct:
        path = tuple(_numbers(r) for r in term.components)
        above = (first.get(path[:length]) for length in range(1, min(len(path), LONGEST_PATH) + 1))
        cover = next((found for found in above if found is not None and found is not term), None)
        if cover is not None:
            yield _shadowed(term, cover, source)
        else:
            plain.append(term)

    def covers(cover: IdTerm, term: IdTerm) -> bool:
        return ids_cover(cover, term, save_child or cover.subtree, save_child or term.subtree)

    yield from _compared(
        [term for term in plain if any(r.first != r.last for r in term.components)], plain, covers, source
    )


def _shadowed_names(terms: Sequence[NameTerm], save_child: bool, source: Source) -> Iterable[Diagnostic]:
    """A shorter prefix in the same place of the same path covers a longer one."""
    keyed = [(_key(term), term) for term in terms]
    distinct, repeated = _repeated(keyed, source)
    yield from repeated
    first = {path: term for path, term in ((_literal_path(term), term) for term in distinct) if path is not None}
    plain: list[NameTerm] = []
    for term in distinct:
        path = _literal_path(term)
        cover = None
        if path is not None:
            parents, last = path[:-1], path[-1]
            shorter = (first.get((*parents, last[:length])) for length in range(1, min(len(last), LONGEST_NAME)))
            cover = next((found for found in shorter if found is not None), None)
        if cover is not None:
            yield _shadowed(term, cover, source)
        else:
            plain.append(term)

    def covers(cover: NameTerm, term: NameTerm) -> bool:
        return names_cover(cover, term, save_child, save_child)

    # Words among themselves are done. A word can still cover a term of another form, and with save_child a path.
    wide = [term for term in plain if _literal_path(term) is None or (save_child and len(term.parts) > 1)]
    if wide:
        yield from _compared(plain if len(plain) <= _MOST_COMPARED else wide, plain, covers, source)


def _shadowed_conditions(condition: Condition, source: Source) -> Iterable[Diagnostic]:
    """Every term is looked for in the two that can cover others: nonfinite, and the smallest bound."""
    keyed = [((term.nan, term.infinity, term.above), term) for term in condition.terms]
    distinct, repeated = _repeated(keyed, source)
    yield from repeated
    bounds = sorted((term for term in distinct if term.above is not None), key=_bound)
    covers = [*bounds[:1], *(term for term in distinct if term.nan and term.infinity)]
    for term in distinct:
        cover = next((cover for cover in covers if cover is not term and cover.covers(term)), None)
        if cover is not None:
            yield _shadowed(term, cover, source)


def _bound(term: ConditionTerm) -> float:
    return term.above or 0.0


def _compared(
    covers: Sequence[PathTermT],
    terms: Sequence[PathTermT],
    does_cover: Callable[[PathTermT, PathTermT], bool],
    source: Source,
) -> Iterable[Diagnostic]:
    """Compare each with each; of two that cover each other the later one is shown."""
    if len(covers) > _MOST_COMPARED or comparing_cost(covers) * comparing_cost(terms) > _MOST_WORK:
        return
    left_out: set[int] = set()
    for index, term in enumerate(terms):
        for cover in covers:
            if cover is not term and id(cover) not in left_out and does_cover(cover, term):
                later = any(earlier is cover for earlier in terms[:index])
                if later or not does_cover(term, cover):
                    left_out.add(id(term))
                    yield _shadowed(term, cover, source)
                    break


def _key(term: NameTerm) -> Hashable:
    parts = tuple(part.atoms if isinstance(part, NamePart) else "**" for part in term.parts)
    return parts, term.anchored, term.prefix


def _literal_path(term: NameTerm) -> tuple[bytes, ...] | None:
    """Return the parts of a term that is a path of words whose last one is a prefix."""
    words: list[bytes] = []
    for part in term.parts[:LONGEST_PATH]:
        atoms = part.atoms if isinstance(part, NamePart) else ()
        word = atoms[0] if len(atoms) == 1 else None
        if not isinstance(word, Literal):
            return None
        words.append(word.folded)
    plain = term.prefix and not term.anchored and len(words) == len(term.parts)
    return tuple(words) if plain else None


def _numbers(numbers: NumberRange) -> tuple[int, int, int]:
    return numbers.first, numbers.last, numbers.step


def _repeated(terms: Sequence[tuple[Hashable, TermT]], source: Source) -> tuple[list[TermT], list[Diagnostic]]:
    """Return the first one of each, and a warning for every other."""
    first: dict[Hashable, TermT] = {}
    found: list[Diagnostic] = []
    for key, term in terms:
        earlier = first.setdefault(key, term)
        if earlier is not term:
            message = f"{quoted(source.slice(term.span))} is there already"
            related = Related(earlier.span, "first given here")
            found.append(warning(Code.DUPLICATE_TERM, term.span, message, None, related))
    return list(first.values()), found


def _shadowed(term: _Term, cover: _Term, source: Source) -> Diagnostic:
    cover_text = quoted(source.slice(cover.span))
    message = f"{quoted(source.slice(term.span))} adds nothing to {cover_text}"
    return warning(Code.SHADOWED_TERM, term.span, message, None, Related(cover.span, "it is part of this"))
