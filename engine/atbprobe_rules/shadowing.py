"""Warnings about terms that change nothing, because another term of the same rule covers all they select."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

from atbprobe_rules.diagnostics import Code, Diagnostic, Related, Source, Span, quoted, warning
from atbprobe_rules.selection import IdTerm, Literal, NamePart, NameTerm, NumberRange, Rule

LONGEST_NAME = 255
"""Names in the file system are not longer; longer prefixes are not looked into."""

LONGEST_PATH = 64
"""Nor are id paths and name paths of more components, none of which a model has."""


class _Term(Protocol):
    @property
    def span(self) -> Span: ...


TermT = TypeVar("TermT", bound=_Term)


def shadowed_terms(rule: Rule, source: Source) -> list[Diagnostic]:
    """Return a warning for each term of the rule that could be left out."""
    return [
        *_shadowed_rounds(rule.rounds.included, source),
        *_repeated([(_numbers(r), r) for r in rule.devices.included], source),
        *_shadowed_ids(rule.ids, rule.save_child, source),
        *_shadowed_names(rule.names, source),
    ]


def _shadowed_rounds(ranges: Sequence[NumberRange], source: Source) -> Iterable[Diagnostic]:
    """Look, in the order of their starts, for ranges that end no later than one before them."""
    yield from _repeated([(_numbers(r), r) for r in ranges], source)
    distinct = {_numbers(r): r for r in reversed(ranges)}
    widest: NumberRange | None = None
    for candidate in sorted(distinct.values(), key=lambda r: (r.first, -r.last)):
        if widest is None or candidate.last > widest.last:
            widest = candidate
        else:
            yield _shadowed(candidate, widest, source)


def _shadowed_ids(terms: Sequence[IdTerm], save_child: bool, source: Source) -> Iterable[Diagnostic]:
    """With save_child the beginning of an id path covers the path."""
    paths = [(tuple(_numbers(r) for r in term.components), term) for term in terms]
    yield from _repeated(paths, source)
    if not save_child:
        return
    first = {path: term for path, term in reversed(paths)}
    for path, term in first.items():
        for length in range(1, min(len(path), LONGEST_PATH)):
            above = first.get(path[:length])
            if above is not None:
                yield _shadowed(term, above, source)
                break


def _shadowed_names(terms: Sequence[NameTerm], source: Source) -> Iterable[Diagnostic]:
    """A shorter prefix in the same place of the same path covers a longer one."""
    paths = [(path, term) for path, term in ((_literal_path(term), term) for term in terms) if path is not None]
    yield from _repeated(paths, source)
    first = {path: term for path, term in reversed(paths)}
    for path, term in first.items():
        parents, last = path[:-1], path[-1]
        for length in range(1, min(len(last), LONGEST_NAME)):
            shorter = first.get((*parents, last[:length]))
            if shorter is not None:
                yield _shadowed(term, shorter, source)
                break


def _literal_path(term: NameTerm) -> tuple[bytes, ...] | None:
    """Return the parts of a term that is a path of words whose last one is a prefix."""
    words: list[bytes] = []
    for part in term.parts[:LONGEST_PATH]:
        atoms = part.atoms if isinstance(part, NamePart) else ()
        word = atoms[0] if len(atoms) == 1 else None
        if not isinstance(word, Literal):
            return None
        words.append(word.folded)
    plain = term.prefix and not term.anchored and not term.excluded and len(words) == len(term.parts)
    return tuple(words) if plain else None


def _numbers(numbers: NumberRange) -> tuple[int, int, int]:
    return numbers.first, numbers.last, numbers.step


def _repeated(terms: Sequence[tuple[Hashable, TermT]], source: Source) -> Iterable[Diagnostic]:
    first: dict[Hashable, TermT] = {}
    for key, term in terms:
        earlier = first.setdefault(key, term)
        if earlier is not term:
            message = f"{quoted(source.slice(term.span))} is there already"
            related = Related(earlier.span, "first given here")
            yield warning(Code.DUPLICATE_TERM, term.span, message, None, related)


def _shadowed(term: _Term, cover: _Term, source: Source) -> Diagnostic:
    cover_text = quoted(source.slice(cover.span))
    message = f"{quoted(source.slice(term.span))} adds nothing to {cover_text}"
    return warning(Code.SHADOWED_TERM, term.span, message, None, Related(cover.span, "it is part of this"))
