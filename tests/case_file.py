"""Cases as text: a config, and what must come of it. `cases/README.md` describes the format.

One case serves every engine: the diagnostics are for the checker, the decisions for all that can decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atbprobe_rules.check import CheckedConfig
from atbprobe_rules.explanation.line_answers import ExecutionCount
from atbprobe_rules.selection import Tasks

CASES = Path(__file__).parent / "cases"

KEPT = {
    "nothing": Tasks.NONE,
    "tensor": Tasks.TENSOR,
    "statistics": Tasks.STATISTICS,
    "both": Tasks.TENSOR | Tasks.STATISTICS,
}


@dataclass(frozen=True)
class Query:
    """An execution of an op, and what is kept of its inputs and of its outputs."""

    round: int
    directory: str
    tasks_in: Tasks
    tasks_out: Tasks


@dataclass(frozen=True)
class Case:
    """What a file says; every one of `configs` must lead to the same diagnostics and decisions."""

    name: str
    configs: tuple[bytes, ...]
    diagnostics: tuple[str, ...]
    queries: tuple[Query, ...]

    def earlier_executions(self) -> list[int]:
        """Return for each query how many before it were of the same op."""
        count = ExecutionCount()
        return [count.take(query.directory.encode("utf-8", "surrogateescape")) for query in self.queries]


def load_cases(folder: str) -> list[Case]:
    """Return the cases of one folder of `cases/`, in the order of their names."""
    cases = [load_case(path) for path in sorted((CASES / folder).glob("*.case"))]
    assert cases, f"there are no cases in {folder}"
    return cases


def load_case(path: Path) -> Case:
    configs: list[bytes] = []
    diagnostics: list[str] = []
    queries: list[Query] = []
    _, *sections = ("\n" + path.read_text(encoding="utf-8")).split("\n== ")
    for section in sections:
        title, _, body = section.partition("\n")
        body = body.removesuffix("\n")
        lines = [line for line in body.split("\n") if line]
        if title == "config":
            configs.append(body.encode())
        elif title == "config escaped":
            configs.append(body.encode("latin-1").decode("unicode_escape").encode("latin-1"))
        elif title == "diagnostics":
            diagnostics += lines
        elif title == "decisions":
            queries += [_query(line) for line in lines]
        else:
            raise ValueError(f"{path}: there is no section {title!r}")
    if not configs:
        raise ValueError(f"{path}: there is no config")
    return Case(path.stem, tuple(configs), tuple(diagnostics), tuple(queries))


def diagnostics_of(checked: CheckedConfig) -> tuple[str, ...]:
    """Return the diagnostics as a case has them."""
    lines = []
    for diagnostic in checked.to_json()["diagnostics"]:
        place = f"{diagnostic['line']}:{diagnostic['column']} {diagnostic['length']}"
        hint = f" ({diagnostic['hint']})" if diagnostic["hint"] is not None else ""
        lines.append(f"{place} {diagnostic['severity']} {diagnostic['code']}: {diagnostic['message']}{hint}")
        for related in diagnostic["related"]:
            place = f"{related['line']}:{related['column']} {related['length']}"
            lines.append(f"  {place} {related['message']}")
    return tuple(lines)


def _query(line: str) -> Query:
    kept, round_text, directory = line.split(" ", 2)
    inputs, slash, outputs = kept.partition("/")
    return Query(int(round_text), directory, KEPT[inputs], KEPT[outputs if slash else inputs])
