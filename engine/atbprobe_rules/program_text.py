"""A program's tables as lines of text for a person, made only as far as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from atbprobe_rules.automaton_description import AutomatonDescription, EmissionDescription
from atbprobe_rules.diagnostics import printable
from atbprobe_rules.program_description import (
    NumbersDescription,
    PositionDescription,
    ProgramDescription,
    RuleDescription,
)
from atbprobe_rules.selection import MAX_NUMBER


@dataclass(frozen=True)
class Table:
    """A title and so many lines, each made when it is asked for by its number from 0."""

    title: str
    line_count: int
    line: Callable[[int], str]

    @classmethod
    def of(cls, title: str, lines: Sequence[str]) -> Table:
        """Return a table of lines that are there already."""
        return cls(title, len(lines), lines.__getitem__)

    def lines(self, most: int | None = None) -> Iterator[str]:
        """Yield the lines, or the first `most` of them."""
        return map(self.line, range(self.line_count if most is None else min(most, self.line_count)))


def program_tables(program: ProgramDescription) -> Iterator[Table]:
    """Yield what there is to show of a program."""
    yield Table.of(
        f"program: {program.total_bytes:,} bytes",
        [
            f"config SHA-256 {program.config_hash}",
            f"dumping {'on' if program.dump_enable else 'off'}",
            f"filter_level {program.filter_level}",
            *([] if program.max_bytes is None else [f"max_bytes {program.max_bytes}, of all rules together"]),
        ],
    )
    yield Table.of("rules", [_rule(rule) for rule in program.rules])
    yield Table.of("rounds -> rules", [_numbers(numbers) for numbers in program.rounds])
    devices = [_numbers(numbers) for numbers in program.devices]
    yield Table.of("devices -> rules", [*devices, f"unknown -> {_listed(program.unknown_device)}"])
    for title, automaton in (("id automaton", program.ids), ("name automaton", program.names)):
        if automaton is not None:
            yield from _automaton(title, automaton)
    if program.positions:
        yield Table.of("positions of path terms", [_position(position) for position in program.positions])
    sections = program.sections
    yield Table.of(
        "sections",
        [f"{name:16} {records:>9,} records {size:>11,} bytes" for name, records, size in sections],
    )


def _rule(rule: RuleDescription) -> str:
    selects = {"everything": "every op", "layers": "layers", "terms": f"ids and names, {rule.match} of them"}
    parts = [
        "" if rule.enabled else "off",
        selects[rule.selects],
        f"in: {'+'.join(rule.inputs) or 'nothing'}",
        f"out: {'+'.join(rule.outputs) or 'nothing'}",
        "with all below" if rule.save_child else "",
        f"when {rule.when}" if rule.when is not None else "",
        *(f"{name} {value}" for name, value in rule.limits.items()),
    ]
    return f"{printable(rule.name)}: {'; '.join(filter(None, parts))}"


def _numbers(numbers: NumbersDescription) -> str:
    if numbers.first == numbers.last:
        shown = str(numbers.first)
    elif numbers.last == MAX_NUMBER:
        shown = f"{numbers.first}-"
    else:
        shown = f"{numbers.first}-{numbers.last}"
    step = f"/{numbers.step}" if numbers.step != 1 else ""
    never = f", never {_listed(numbers.never)}" if numbers.never else ""
    return f"{shown}{step} -> {_listed(numbers.rules)}{never}"


def _automaton(title: str, automaton: AutomatonDescription) -> Iterator[Table]:
    classes = [f"{number}: {text}" for number, text in enumerate(automaton.classes)]
    yield Table.of(f"{title}, classes of bytes", classes)

    def line(number: int) -> str:
        state = automaton.state(number)
        said = _emission(automaton.emissions[state.emission])
        words = ["start"] if number == automaton.start else []
        if number < automaton.absorbing:
            words.append("stays" if said else "dead")
        else:
            moves = [f"{text} -> {target}" for text, target in state.moves]
            words.append(", ".join([*moves, f"{'else' if moves else 'all'} -> {state.otherwise}"]))
        return f"{number}: {'; '.join([*words, said] if said else words)}"

    yield Table(f"{title}, states", automaton.state_count, line)


def _emission(emission: EmissionDescription) -> str:
    parts: list[tuple[str, Iterable[object]]] = [
        ("here", emission.here),
        ("here and below", emission.below),
        ("never here nor below", emission.excluded),
        ("position", emission.positions),
    ]
    return "; ".join(f"{word}: {', '.join(printable(str(name)) for name in names)}" for word, names in parts if names)


def _position(position: PositionDescription) -> str:
    words = ["begins a term" if position.start else "", "at the layer only" if position.anchored else ""]
    words.append("any number of components may follow" if position.sticky else "")
    words.append(_emission(position.accept) if position.accept is not None else "")
    return f"{position.number}: {'; '.join(filter(None, words)) or 'goes on'}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names)) or "none"
