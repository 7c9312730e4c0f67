"""What op_name selects: patterns of names and of paths of names, read term by term."""

from __future__ import annotations

from atbprobe_rules.diagnostics import Code, Diagnostic, Related, Span, error, quoted
from atbprobe_rules.number_terms import refuse_empty
from atbprobe_rules.parse_terms import parse_name_term, split_names
from atbprobe_rules.selection import (
    AnyCharacter,
    AnyCharacters,
    AnyDepth,
    CharacterSet,
    Literal,
    NameAtom,
    NamePart,
    NameTerm,
)
from atbprobe_rules.syntax_tree import BLANKS, Excerpt, NameForm, PartForm, Piece, PieceKind, String

_ANY_DEPTH = "**"


def read_names(value: String, found: list[Diagnostic]) -> tuple[NameTerm, ...]:
    """Read op_name: patterns of names, or of paths of names, joined by commas."""
    field = Excerpt.whole(value).stripped()
    if not field.text:
        return ()
    terms: list[NameTerm] = []
    for term in split_names(field):
        if not term.text:
            refuse_empty(term, found)
            continue
        form = parse_name_term(term, found)
        name_term = _read_term(form, found) if form is not None else None
        if name_term is not None:
            terms.append(name_term)
    return tuple(terms)


def _read_term(form: NameForm, found: list[Diagnostic]) -> NameTerm | None:
    before = len(found)
    parts = form.parts
    anchored = len(parts) > 1 and not parts[0].pieces
    if anchored:
        parts = parts[1:]
    read: list[NamePart | AnyDepth] = []
    for part in parts:
        if part.pieces:
            # `**` after `**` adds nothing, and a compiled pattern has no place for it.
            if not (_is_any_depth(part) and read and isinstance(read[-1], AnyDepth)):
                read.append(_read_part(part, found))
        else:
            message = "a part of the path is empty" if len(form.parts) > 1 else "a name is missing"
            found.append(error(Code.EMPTY_TERM, part.span, message))
    _refuse_misleading_start(form, parts[0], found)
    if form.exact is not None and parts[-1].pieces and _is_any_depth(parts[-1]):
        message = f'"=" makes the last name exact, and {quoted(_ANY_DEPTH)} is none'
        found.append(error(Code.BAD_TERM, form.exact, message, None, Related(parts[-1].span, "here")))
    if len(found) != before:
        return None
    has_wildcard = any(piece.kind not in _PLAIN_KINDS for piece in parts[-1].pieces)
    prefix = form.exact is None and not has_wildcard
    return NameTerm(tuple(read), anchored, prefix, excluded=form.excluded is not None, span=form.span)


def _refuse_misleading_start(form: NameForm, first: PartForm, found: list[Diagnostic]) -> None:
    """Refuse what would be taken for a mark or for a blank of no meaning, and is part of the name."""
    if (form.excluded is None and form.exact is None) or not first.pieces:
        return
    start = first.pieces[0]
    if start.kind is PieceKind.CHARACTERS and start.text[0] in "!=" + BLANKS:
        character = start.text[0]
        place = Span(start.span.offset, 1)
        what = "a blank" if character in BLANKS else quoted(character)
        hint = 'an excluded exact name begins with "!="' if character == "!" and form.exact is not None else None
        hint = hint or "if the name begins with it, write \\ before it"
        found.append(error(Code.BAD_TERM, place, f"{what} cannot stand here", hint))


_PLAIN_KINDS = (PieceKind.CHARACTERS, PieceKind.ESCAPED)


def _is_any_depth(part: PartForm) -> bool:
    return len(part.pieces) == 1 and part.pieces[0].kind is PieceKind.ANY_CHARACTERS and part.pieces[0].text == "**"


def _read_part(part: PartForm, found: list[Diagnostic]) -> NamePart | AnyDepth:
    if _is_any_depth(part):
        return AnyDepth(part.span)
    atoms: list[NameAtom] = []
    for piece in part.pieces:
        atom = _read_piece(piece, found)
        last = atoms[-1] if atoms else None
        if isinstance(atom, Literal) and isinstance(last, Literal):
            atoms[-1] = Literal(last.folded + atom.folded)
        elif not (isinstance(atom, AnyCharacters) and isinstance(last, AnyCharacters)):
            atoms.append(atom)
    return NamePart(tuple(atoms), part.span)


def _read_piece(piece: Piece, found: list[Diagnostic]) -> NameAtom:
    if piece.kind is PieceKind.ANY_CHARACTERS:
        return AnyCharacters()
    if piece.kind is PieceKind.ANY_CHARACTER:
        return AnyCharacter()
    if piece.kind is PieceKind.CHARACTER_SET:
        return _read_set(piece, found)
    text = piece.text[1:] if piece.kind is PieceKind.ESCAPED else piece.text
    return Literal(text.encode().lower())


def _read_set(piece: Piece, found: list[Diagnostic]) -> CharacterSet:
    """Read `[..]`: characters and `a-z` ranges; a `-` at either end, or behind a backslash, is a character."""
    content = piece.text[1:-1]
    negated = len(content) > 1 and content.startswith("!")
    characters = _unescaped(content[negated:])
    ranges: list[tuple[int, int]] = []
    i = 0
    while i < len(characters):
        first = characters[i][0]
        last = first
        if i + 2 < len(characters) and characters[i + 1] == ("-", False):
            last = characters[i + 2][0]
            i += 2
        i += 1
        if first > last:
            message = f"the range in {quoted(piece.text)} runs from {first} down to {last}"
            found.append(error(Code.REVERSED_RANGE, piece.span, message, f'did you mean "{last}-{first}"?'))
        else:
            ranges.append((ord(first), ord(last)))
    return CharacterSet(tuple(ranges), negated)


def _unescaped(content: str) -> list[tuple[str, bool]]:
    """Return the characters of a set, each with whether it stood behind a backslash."""
    characters: list[tuple[str, bool]] = []
    escaped = False
    for character in content:
        if character == "\\" and not escaped:
            escaped = True
            continue
        characters.append((character, escaped))
        escaped = False
    return characters
