"""What `explain --program` shows is the program: every table can be made again from it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from inputs import selections

from atbprobe_rules.automaton_description import bytes_text
from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.program import AutomatonTables
from atbprobe_rules.program_description import ProgramDescription
from atbprobe_rules.selection import MAX_NUMBER, Selection, Tasks

Json = dict[str, Any]
TASKS = {"tensor": Tasks.TENSOR, "statistics": Tasks.STATISTICS}
BYTE = re.compile(r"\\x(?P<hex>[0-9a-f]{2})|\\(?P<escaped>[-\\])|(?P<plain>[!-~])")


class Masks:
    """Makes masks of the names of rules again. They are unique: without a name a rule is called by its number."""

    def __init__(self, described: Json) -> None:
        self._bits = {rule["name"]: 1 << bit for bit, rule in enumerate(described["rules"])}

    def of(self, names: Sequence[str]) -> int:
        return sum(self._bits[name] for name in names)


def compiled_condition(when: str) -> tuple[int, float]:
    """Return the bits and the bound of a condition as a config has it."""
    selection = check_config(json.dumps({"when": when}).encode(), "when").require()
    bits, bound = compile_selection(selection, bytes(32)).actions[["condition", "condition_bound"]].tolist()[0]
    return bits, bound


def read_bytes(text: str) -> list[int]:
    """Return the bytes that a text of bytes stands for."""
    found: list[int] = []
    for item in text.split(" ") if text else []:
        first = BYTE.match(item)
        assert first is not None
        numbers = [first]
        if first.end() < len(item):
            assert item[first.end()] == "-"
            last = BYTE.fullmatch(item, first.end() + 1)
            assert last is not None
            numbers.append(last)
        ends = [int(match["hex"], 16) if match["hex"] else ord(match[match.lastgroup or ""]) for match in numbers]
        found += range(ends[0], ends[-1] + 1)
    return found


def assert_same_automaton(described: Json | None, tables: AutomatonTables, masks: Masks, words: int) -> None:
    if described is None:
        assert tables.class_count == 0
        return
    classes = {byte: number for number, text in enumerate(described["classes"]) for byte in read_bytes(text)}
    assert [classes[byte] for byte in range(256)] == tables.classes.tolist()
    width = tables.class_count
    assert len(described["classes"]) == width
    assert (described["start"] * width, described["absorbing"] * width) == (tables.start, tables.absorbing)
    transitions: list[int] = []
    for number, state in enumerate(described["states"]):
        assert state["state"] == number
        row = [state["otherwise"]] * width
        for move in state["moves"]:
            for byte in read_bytes(move["bytes"]):
                row[classes[byte]] = move["to"]
        transitions += (target * width for target in row)
    assert transitions == tables.transitions.tolist()
    assert [state["emission"] for state in described["states"]] == tables.states.tolist()
    emissions = [tuple(masks.of(said[key]) for key in ("here", "below", "excluded")) for said in described["emissions"]]
    assert emissions == tables.emissions.tolist()
    assert all(position < 64 * words for said in described["emissions"] for position in said["positions"])


@given(selections())
def test_every_table_can_be_made_again(selection: Selection) -> None:
    program = compile_selection(selection, bytes(32))
    described: Json = json.loads(json.dumps(ProgramDescription(program).to_json()))
    masks = Masks(described)
    record = program.program[0]
    rules = described["rules"]

    def rules_where(field: str, value: object) -> int:
        return sum(1 << bit for bit, rule in enumerate(rules) if rule[field] == value)

    assert rules_where("enabled", value=True) == record["enabled_rules"]
    assert rules_where("selects", "everything") == record["select_all"]
    assert rules_where("selects", "layers") == record["select_layers"]
    assert rules_where("match", "all") == record["match_all"]
    assert masks.of(described["unknown_device"]) == record["unknown_device"]
    assert (described["dump_enable"], described["filter_level"]) == (record["dump_enable"], record["filter_level"])
    for side, field in (("in", "input_tasks"), ("out", "output_tasks")):
        assert [sum(TASKS[task] for task in rule[side]) for rule in rules] == program.actions[field].tolist()
    assert [rule["save_child"] for rule in rules] == program.actions["save_child"].tolist()
    for limit in ("next", "stop_after", "max_bytes", "max_tensor_bytes"):
        assert [rule.get(limit, 0) for rule in rules] == program.actions[limit].tolist()
    assert (described["max_bytes"] or 0) == record["max_bytes"]
    written = [compiled_condition(rule["when"]) if "when" in rule else (0, 0.0) for rule in rules]
    assert written == program.actions[["condition", "condition_bound"]].tolist()

    for name, intervals, strides in (
        ("rounds", program.rounds, program.round_strides),
        ("devices", program.devices, program.device_strides),
    ):
        given_masks = [(row["first"], masks.of(row["rules"]), masks.of(row["never"])) for row in described[name]]
        assert given_masks[: len(intervals)] == intervals.tolist()
        lasts = [MAX_NUMBER if row["last"] is None else row["last"] for row in described[name]]
        assert [last + 1 for last in lasts[: len(intervals) - 1]] == intervals["first"].tolist()[1:]
        assert [
            (row["first"], last, row["step"], masks.of(row["rules"]), masks.of(row["never"]))
            for row, last in list(zip(described[name], lasts, strict=True))[len(intervals) :]
        ] == strides.tolist()

    words = len(program.path_words)
    assert_same_automaton(described["ids"], program.ids, masks, 0)
    assert_same_automaton(described["names"], program.names, masks, words)
    if described["names"] is not None:
        rows = [sum(1 << position for position in said["positions"]) for said in described["names"]["emissions"]]
        there = program.name_positions.tobytes()
        assert b"".join(row.to_bytes(8 * words, "little") for row in rows) == there

    for flag in ("start", "anchored", "sticky"):
        bits = sum(1 << position["position"] for position in described["positions"] if position[flag])
        assert bits.to_bytes(8 * words, "little") == program.path_words[flag].tobytes()
    accepts = [position["accept"] for position in described["positions"] if position["accept"] is not None]
    accept_masks = [tuple(masks.of(accept[key]) for key in ("here", "below", "excluded")) for accept in accepts]
    assert accept_masks == program.path_accepts.tolist()
    bits = sum(1 << place["position"] for place in described["positions"] if place["accept"] is not None)
    assert bits.to_bytes(8 * words, "little") == program.path_words["accept"].tobytes()


def test_bytes_as_text() -> None:
    assert bytes_text([0x20, 0x2D, 0x5C, 0x61, 0x62, 0x7F]) == r"\x20 \- \\ a b \x7f"
    assert bytes_text([0x30, 0x31, 0x32, 0x41, 0x42, 0xFD, 0xFE, 0xFF]) == r"0-2 A B \xfd-\xff"
    assert read_bytes(bytes_text(range(256))) == list(range(256))
    assert read_bytes(bytes_text([0x2C, 0x2D, 0x2E, 0x5C])) == [0x2C, 0x2D, 0x2E, 0x5C]
