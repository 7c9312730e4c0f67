"""What `compare` says to a person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from atbprobe_rules.cli.words import counted
from atbprobe_rules.compare.comparison import ComparedTensor, Comparison, FedBy, WrongOperation
from atbprobe_rules.compare.first_difference import State
from atbprobe_rules.compare.tensor_pair import Verdict
from atbprobe_rules.diagnostics import printable

_WRONG_SHOWN = 10
LISTED = 20

_JUDGED = {Verdict.IDENTICAL: "equal to the bit", Verdict.EQUAL: "equal", Verdict.DIFFERS: "differs"}


def print_comparison(comparison: Comparison, written: Sequence[Path]) -> None:
    """Print what came of it: counts, the first operation that differs and what feeds it, what is missing."""
    _say(f"golden  {comparison.golden}")
    _say(f"target  {comparison.target}")
    _say(_counts(comparison))
    for note in comparison.notes:
        _say(f"note: {note}")
    click.echo()
    if comparison.first is not None:
        _print_first(comparison.first)
        _print_others(comparison)
    elif comparison.differs:
        _say("tensors differ, but none that says anything of an operation: inputs whose operations' outputs are equal")
        _print_tensors([tensor for tensor in comparison.tensors if tensor.verdict is Verdict.DIFFERS])
    elif comparison.tensors:
        _say("no operation differs")
    else:
        _say("nothing could be compared: no tensor is in both")
    _print_missing(comparison)
    for path in written:
        _say(f"written: {path}")


def _say(text: str) -> None:
    click.echo(printable(text))


def _counts(comparison: Comparison) -> str:
    counts = {verdict: comparison.count(verdict) for verdict in Verdict}
    equal = counts[Verdict.IDENTICAL] + counts[Verdict.EQUAL]
    words = [f"{equal:,} equal ({counts[Verdict.IDENTICAL]:,} to the bit)", f"{counts[Verdict.DIFFERS]:,} differ"]
    for verdict, said in ((Verdict.UNREADABLE, "cannot be read"), (Verdict.UNKNOWN, "cannot be told")):
        if counts[verdict]:
            words.append(f"{counts[verdict]:,} {said}")
    for side, places in (("golden", comparison.only_golden), ("target", comparison.only_target)):
        if places:
            words.append(f"{len(places):,} only in {side}")
    if comparison.unjudged:
        words.append(f"{comparison.unjudged:,} without data or statistics in either")
    return f"{counted(len(comparison.tensors), 'tensor')} compared: {', '.join(words)}"


def _print_first(wrong: WrongOperation) -> None:
    place = wrong.place
    click.secho(f"first operation that differs: {printable(place.op)}", bold=True)
    _say(f"  in round {place.round} of {place.process}: {_why(wrong)}")
    for feed in wrong.fed_by:
        _say(f"  {_fed_by(feed)}")
    _print_tensors(wrong.tensors)


def _why(wrong: WrongOperation) -> str:
    if not wrong.found.by_outputs:
        return (
            "its inputs differ, and nothing is known of outputs: what feeds it has gone wrong, in an operation that "
            "ends before it begins"
        )
    if wrong.found.inputs is State.SAME:
        return "its inputs are the same and its outputs differ: the difference arises here"
    if wrong.found.inputs is State.EQUAL:
        return "its inputs are equal within the thresholds and its outputs are not: the difference arises or grows here"
    if wrong.found.inputs is State.DIFFERS:
        return (
            "its outputs differ, and so do its inputs: the difference comes from outside, or from an operation that "
            "was not dumped"
        )
    return "its outputs differ, and nothing is known of its inputs; all that ended before it is equal"


def _fed_by(feed: FedBy) -> str:
    said = "not compared" if feed.verdict is None else _JUDGED.get(feed.verdict, feed.verdict.value)
    if feed.source is None:
        origin = "of no operation dumped before it: a weight, an input of the model, or made by what was not dumped"
    else:
        origin = f"{feed.source.io} {feed.source.index} of {feed.source.op}"
    return f"input {feed.input.index} ({said}): {origin}"


def _print_others(comparison: Comparison) -> None:
    assert comparison.first is not None
    first = comparison.first.place
    others = [wrong for wrong in comparison.wrong if wrong.found.arises_here and wrong.place != first]
    if not others:
        return
    _say("differences also arise, with inputs that are the same, in")
    for wrong in others[:_WRONG_SHOWN]:
        _say(f"  {wrong.place.op}  (round {wrong.place.round} of {wrong.place.process})")
    if len(others) > _WRONG_SHOWN:
        _say(f"  and {counted(len(others) - _WRONG_SHOWN, 'more operation')}")


def _print_tensors(tensors: Sequence[ComparedTensor]) -> None:
    from atbprobe_rules.cli.compare_table import print_tensors  # and rich, which takes its time to import

    print_tensors(tensors)


def _print_missing(comparison: Comparison) -> None:
    for title, places in (("only in golden", comparison.only_golden), ("only in target", comparison.only_target)):
        _print_listed(f"{title}: {counted(len(places), 'tensor')}", list(map(str, places)))
    unread = [tensor for tensor in comparison.tensors if tensor.verdict.equal is None]
    lines = [f"{tensor.golden}: {'; '.join(tensor.outcome.reasons)}" for tensor in unread]
    _print_listed(f"could not be compared: {counted(len(unread), 'tensor')}", lines)
    _print_listed("problems", comparison.problems)


def _print_listed(title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    _say(title)
    for line in lines[:LISTED]:
        _say(f"  {line}")
    if len(lines) > LISTED:
        _say(f"  and {len(lines) - LISTED:,} more: --json has them all")
