"""`explain --on` selects an op if and only if a process would in some round; each term is decided as the reference
does; and what is said to be missing is what is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from engines import CONFIG_HASH, ask_library, image_of
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from inputs import directories
from language import SMALL_PATHS, Config, configs

from atbprobe_rules.catalogue.ops import Catalogue, CatalogueBuilder
from atbprobe_rules.check import check_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.explanation.line_answers import ExecutionCount, answer_lines, task_names
from atbprobe_rules.explanation.op_selection import OpSelection
from atbprobe_rules.explanation.rule_rounds import RuleRounds
from atbprobe_rules.explanation.term_matches import DEFAULT, TermMatches
from atbprobe_rules.explanation.why import Change, explain_op
from atbprobe_rules.fields import DEVICE, DUMP_ENABLE
from atbprobe_rules.op_lines import OpLines
from atbprobe_rules.selection import MAX_NUMBER, Selection

RECORDS = Path(__file__).parent.parent / "data" / "conformance" / "decisions.jsonl"
DIRS = st.lists(directories, min_size=1, max_size=8)


def catalogue_of(dirs: Sequence[bytes]) -> Catalogue:
    builder = CatalogueBuilder()
    for directory in dirs:
        builder.add_directory(directory)
    return builder.build()


def rounds_to_ask(selection: Selection) -> list[int]:
    """Where anything can begin or end, and a little after it."""
    numbers = {0, MAX_NUMBER}
    for rule in selection.rules:
        for numbers_range in (*rule.rounds.included, *rule.rounds.excluded):
            numbers |= {numbers_range.first, numbers_range.last}
    near = {number + step for number in numbers for step in range(-2, 24)}
    return sorted(number for number in near if 0 <= number <= MAX_NUMBER)


def native_rules(selection: Selection, catalogue: Catalogue) -> list[int]:
    """Of each op the rules that select it in any of these rounds, as a process decides."""
    rounds = rounds_to_ask(selection)
    dirs = [op.head + b"/0/" + op.path for op in catalogue.ops]
    answers = ask_library(image_of(selection), [(number, directory) for directory in dirs for number in rounds])
    found = []
    for start in range(0, len(answers), len(rounds)):
        mask = 0
        for answer in answers[start : start + len(rounds)]:
            mask |= answer[0]
        found.append(mask)
    return found


def decided(selection: Selection, catalogue: Catalogue) -> OpSelection:
    return OpSelection.of(compile_selection(selection, CONFIG_HASH), catalogue)


def selection_of(config: Config) -> Selection:
    checked = check_config(json.dumps(config, ensure_ascii=False).encode(), "config.json")
    assume(checked.selection is not None)
    return checked.require()


@given(configs(), DIRS)
def test_selected_if_a_process_would_in_some_round(config: Config, dirs: Sequence[bytes]) -> None:
    selection, catalogue = selection_of(config), catalogue_of(dirs)
    assume(len(catalogue) > 0)
    assert decided(selection, catalogue).rules.tolist() == native_rules(selection, catalogue)


@given(configs(), st.lists(st.tuples(st.integers(0, 12), directories), min_size=1, max_size=12))
def test_lines_are_answered_as_a_process_would(config: Config, lines: list[tuple[int, bytes]]) -> None:
    selection = selection_of(config)
    lines = [(number, directory.replace(b"\n", b"").rstrip(b"\r")) for number, directory in lines]
    count = ExecutionCount()
    native = ask_library(image_of(selection), [(number, path, count.take(path)) for number, path in lines])
    text = b"".join(b"%d\t%b\n" % line for line in lines)
    [answers] = answer_lines(compile_selection(selection, CONFIG_HASH), [OpLines.of(text)])
    told = [json.loads(line) for line in answers.json_lines().splitlines()]
    for (mask, _, _, inputs, outputs), answer, (number, directory) in zip(native, told, lines, strict=True):
        rules = [rule.label for bit, rule in enumerate(selection.rules) if mask >> bit & 1]
        assert (answer["round"], answer["dir"]) == (number, directory.decode("utf-8", "surrogateescape"))
        assert (answer["selected"], answer["rules"]) == (mask != 0, rules)
        assert (answer["in"], answer["out"]) == (task_names(inputs), task_names(outputs))


def test_the_recorded_configs_select_the_same_ops() -> None:
    """Every config of the records, with all its ops; its rounds are decided line by line in test_conformance."""
    selected = 0
    for line in RECORDS.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        selection = check_config(json.dumps(case["config"]).encode(), "config.json").require()
        catalogue = catalogue_of([directory.encode() for _, directory, _, _ in case["queries"]])
        rules = decided(selection, catalogue).rules.tolist()
        assert rules == native_rules(selection, catalogue), case["config"]
        by_path = dict(zip(((op.head, op.path) for op in catalogue.ops), rules, strict=True))
        for number, directory, in_range, in_dir in case["queries"]:
            head, _, path = directory.encode().split(b"/", 2)
            if in_range and in_dir:
                assert by_path[head, path], (case["config"], number, directory)
                selected += 1
    assert selected > 0


@given(configs(), st.lists(st.integers(0, 60), min_size=1, max_size=4))
def test_the_rounds_of_a_rule_are_those_of_the_reference(config: Config, asked: list[int]) -> None:
    selection = selection_of(config)
    rounds = RuleRounds(compile_selection(selection, CONFIG_HASH))
    for bit, rule in enumerate(selection.rules):
        found = rounds.of(1 << bit)
        assert all(rule.rounds.accepts(number) for number in found.first)
        for number in asked:
            if rule.rounds.accepts(number) and number not in found.first:
                assert len(found.first) == 8 and number > found.first[-1]
        below = sum(rule.rounds.accepts(number) for number in range(61))
        counted = RuleRounds(compile_selection(selection, CONFIG_HASH), 61).counts()
        assert sum(count for mask, count in counted.items() if mask >> bit & 1) == below


@given(configs(), DIRS)
def test_the_terms_of_a_rule_add_up_to_what_it_takes(config: Config, dirs: Sequence[bytes]) -> None:
    config["dump_enable"] = True
    selection, catalogue = selection_of(config), catalogue_of(dirs)
    assume(len(catalogue) > 0)
    matches, selected = TermMatches(selection, catalogue), decided(selection, catalogue)
    live = RuleRounds(selected.program).live_rules()
    for index in range(len(catalogue)):
        for bit, rule in enumerate(selection.rules):
            terms = [
                (term, matched)
                for term, matched in zip(matches.terms, matches.of_op(index), strict=True)
                if term.rule is rule
            ]
            device = next(matched for term, matched in terms if term.field == DEVICE.name)
            excluded = any(matched for term, matched in terms if term.excluded)
            by_field: dict[str, bool] = {}
            for term, matched in terms:
                if not term.excluded and term.field != DEVICE.name:
                    by_field[term.field] = by_field.get(term.field, False) or matched
            path = all(by_field.values()) if rule.match_all or DEFAULT in by_field else any(by_field.values())
            takes = device and path and not excluded and bool(live >> bit & 1)
            assert takes == selected.selects(bit)[index], (rule, catalogue.ops[index])


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(configs(), st.sampled_from(SMALL_PATHS) | directories, st.data())
def test_what_is_said_to_be_missing_makes_a_rule_select(config: Config, directory: bytes, data: st.DataObject) -> None:
    """Each rule's changes, written into the config, make exactly that rule select the op."""
    selection, catalogue = selection_of(config), catalogue_of([directory])
    assume(len(catalogue) > 0)
    index = data.draw(st.integers(0, len(catalogue) - 1))
    selected = decided(selection, catalogue)
    verdict = explain_op(selection, selected, TermMatches(selection, catalogue), index)
    assert verdict.selected == (selected.rules[index] != 0)
    for bit, rule in enumerate(verdict.rules):
        assert rule.takes == selected.selects(bit)[index]
        assert bool(rule.changes) != rule.takes
        if not rule.takes:
            changed = json.dumps(with_changes(config, bit, rule.changes)).encode()
            after = decided(check_config(changed, "config.json").require(), catalogue)
            assert after.selects(bit)[index], (rule.changes, config)


def with_changes(config: Config, bit: int, changes: Sequence[Change]) -> Config:
    made: Config = json.loads(json.dumps(config))
    target = made["rules"][bit] if "rules" in made else made
    for change in changes:
        place = made if change.field == DUMP_ENABLE.name else target
        place[change.field] = change.value
    return made
