"""What a config says of each op of a list: decided by the compiled program, as a process would."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

from atbprobe_rules.diagnostics import printable
from atbprobe_rules.evaluate import decide_many
from atbprobe_rules.op_lines import OpLines
from atbprobe_rules.op_path import execution_key
from atbprobe_rules.program import Program, Records
from atbprobe_rules.selection import Tasks

_THREADS = 2
"""numpy lets go of the interpreter for most of a decision, so batches are decided while others are printed."""

_TASK_NAMES = ((Tasks.TENSOR, "tensor"), (Tasks.STATISTICS, "statistics"))


class ExecutionCount:
    """How often each op was met so far; each line of a list is one execution."""

    def __init__(self) -> None:
        self._met: Counter[bytes] = Counter()

    def take(self, directory: bytes) -> int:
        """Count one execution of the op that `directory` names, and return how many came before it."""
        key = execution_key(directory)
        earlier = self._met[key]
        self._met[key] = earlier + 1
        return earlier


@dataclass(frozen=True)
class Answers:
    """What the rules say of some lines, in their order. A line without a round is not selected.

    Nothing is known here of values and sizes: conditions are taken as met, and no rule ends.
    """

    lines: OpLines
    rule_names: tuple[str, ...]
    conditions: tuple[str | None, ...]
    """Of each rule what its `when` asks of outputs, as a config writes it."""
    decisions: Records
    """DECISION records, one for each line."""

    @property
    def selected(self) -> list[bool]:
        """Of each line whether any rule selects it."""
        chosen: list[bool] = (self.decisions["rules"] != 0).tolist()
        return chosen

    def json_lines(self) -> str:
        """Return the objects that ``explain --ops --json`` prints, a line each."""
        starts = ['"round_from": "dir", "dir": ', '"round_from": "argument", "dir": ']
        rest: dict[tuple[int, int, int], str] = {}
        made = []
        for round_number, from_argument, directory, decision in self._rows():
            if decision not in rest:
                rules, inputs, outputs = decision
                said = {
                    "selected": rules != 0,
                    "rules": self._rules(rules),
                    "in": task_names(inputs),
                    "out": task_names(outputs),
                }
                rest[decision] = json.dumps(said)[1:]
            number = "null" if round_number is None else round_number
            name = encode_basestring_ascii(directory)
            made.append(f'{{"round": {number}, {starts[from_argument]}{name}, {rest[decision]}\n')
        return "".join(made)

    def text_lines(self) -> str:
        """Return a line for each, for a person and safe for a terminal."""
        made = []
        for round_number, _, directory, (rules, inputs, outputs) in self._rows():
            shown = directory if directory.isprintable() else printable(directory)
            number = "no round" if round_number is None else f"round {round_number}"
            if rules == 0:
                made.append(f"-  {shown}  ({number})\n")
                continue
            sides = [
                f"{side}: {'+'.join(task_names(tasks))}" for side, tasks in (("in", inputs), ("out", outputs)) if tasks
            ]
            names = printable(", ".join(self._rules(rules, with_conditions=True)))
            made.append(f"+  {shown}  ({number}; rule {names}; {'; '.join(sides)})\n")
        return "".join(made)

    def _rows(self) -> Iterator[tuple[int | None, bool, str, tuple[int, int, int]]]:
        """Yield of each line its round, whether that was given, the directory, and rules and tasks."""
        lines, text = self.lines, self.lines.dirs.text.tobytes()
        decisions = self.decisions[["rules", "input_tasks", "output_tasks"]].tolist()
        columns = zip(
            lines.rounds.tolist(),
            lines.has_round.tolist(),
            lines.from_argument.tolist(),
            lines.dirs.begin.tolist(),
            lines.dirs.end.tolist(),
            decisions,
            strict=True,
        )
        for number, has_round, from_argument, begin, end, decision in columns:
            directory = text[begin:end].decode("utf-8", "surrogateescape")
            yield number if has_round else None, from_argument, directory, decision

    def _rules(self, mask: int, with_conditions: bool = False) -> list[str]:
        chosen = [
            (name, condition)
            for bit, (name, condition) in enumerate(zip(self.rule_names, self.conditions, strict=True))
            if mask >> bit & 1
        ]
        return [f"{name} (when {when})" if with_conditions and when is not None else name for name, when in chosen]


def answer_lines(program: Program, batches: Iterable[OpLines]) -> Iterator[Answers]:
    """Decide each line, in order, the rules taken before the first of them."""
    count = ExecutionCount() if program.actions["next"].any() else None
    with ThreadPoolExecutor(_THREADS) as pool:
        under_way: list[Future[Answers]] = []
        for lines in batches:
            earlier = None if count is None else _count(count, lines)
            under_way.append(pool.submit(_decide, program, lines, earlier))
            if len(under_way) > _THREADS:
                yield under_way.pop(0).result()
        for answers in under_way:
            yield answers.result()


def task_names(tasks: int) -> list[str]:
    """Return the words for a mask of tasks."""
    return [name for task, name in _TASK_NAMES if tasks & task]


def _count(count: ExecutionCount, lines: OpLines) -> list[int]:
    text = lines.dirs.text.tobytes()
    places = zip(lines.dirs.begin.tolist(), lines.dirs.end.tolist(), strict=True)
    return [count.take(text[begin:end]) for begin, end in places]


def _decide(program: Program, lines: OpLines, earlier: list[int] | None) -> Answers:
    decisions = decide_many(program, lines.rounds, lines.paths, earlier)
    decisions[~lines.has_round] = 0
    return Answers(lines, program.rule_names, program.conditions, decisions)
