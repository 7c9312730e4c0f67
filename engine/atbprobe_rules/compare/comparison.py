"""Two dumps compared: every tensor of both, what is on one side only, and the operation at which it begins.

Rounds are read, matched and compared one after the other and then let go, data in blocks; what stays is some 1.3 KiB
for each tensor.

Which operation is first is asked of each round of each device; of the answers that of the earliest round counts, and
in it the one that comes earliest in its own device's round: what a faulty device hands to the others shows there later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from atbprobe_rules.compare.feeding import feeds
from atbprobe_rules.compare.first_difference import JudgedTensor, WrongOp, wrong_operations
from atbprobe_rules.compare.matching import Matched, RoundPair, match_rounds, match_tensors
from atbprobe_rules.compare.number_map import NumberMap
from atbprobe_rules.compare.tensor_pair import Pair, PairOutcome, Verdict
from atbprobe_rules.compare.thresholds import Thresholds, coarsest_of
from atbprobe_rules.compare.workers import PairComparer
from atbprobe_rules.dump.op import StoredTensor
from atbprobe_rules.dump.tree import Dump

Ids = tuple[int, ...]
Progress = Callable[[int, int], None]
"""Told how many pairs are compared, and about how many there are."""


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a tensor belongs in its dump. `round` is the name of its folder, `op` its path of ids and names."""

    process: str
    round: str
    op: str
    ids: Ids
    io: str
    index: str  # what follows intensor or outtensor: `1`, `1_weight`

    @classmethod
    def of(cls, tensor: StoredTensor) -> TensorPlace:
        op = tensor.op
        return cls(op.round.process, op.round.name, op.full_name, op.id_path, tensor.io, tensor.name.label)

    @property
    def name(self) -> str:
        """The Data Name of the published comparison: `2_Prefill_layer/1_Attention/input.1_weight`."""
        return f"{self.op}/{self.io}.{self.index}"

    def __str__(self) -> str:
        return f"{self.process}/{self.round}/{self.name}"


@dataclass(frozen=True, slots=True)
class ComparedTensor:
    """A tensor that both dumps have."""

    golden: TensorPlace
    target: TensorPlace
    outcome: PairOutcome

    @property
    def verdict(self) -> Verdict:
        return self.outcome.verdict


@dataclass(frozen=True)
class FedBy:
    """An input of an operation in golden, the output that it is (None: of nothing dumped), and how it came out."""

    input: TensorPlace
    source: TensorPlace | None
    verdict: Verdict | None


@dataclass(frozen=True)
class WrongOperation:
    """An operation that is wrong: `found` is why, `tensors` are its own, at least one; `fed_by` its inputs."""

    found: WrongOp
    tensors: tuple[ComparedTensor, ...]
    fed_by: tuple[FedBy, ...] = ()

    @property
    def place(self) -> TensorPlace:
        """That of one of its tensors in golden."""
        return self.tensors[0].golden


@dataclass
class Comparison:
    """What came of it. `wrong` is in the order of execution, pair of rounds by pair; `first` is where it begins."""

    golden: str
    target: str
    tensors: list[ComparedTensor] = field(default_factory=list)
    only_golden: list[TensorPlace] = field(default_factory=list)
    only_target: list[TensorPlace] = field(default_factory=list)
    wrong: list[WrongOperation] = field(default_factory=list)
    first: WrongOperation | None = None
    unjudged: int = 0  # pairs of which neither side has data or statistics
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, verdict: Verdict) -> int:
        return sum(tensor.verdict is verdict for tensor in self.tensors)

    @property
    def differs(self) -> bool:
        return any(tensor.verdict is Verdict.DIFFERS for tensor in self.tensors)

    @property
    def is_incomplete(self) -> bool:
        """Whether something could not be compared: one side lacks it, or it cannot be read."""
        lacking = self.only_golden or self.only_target or self.problems or not self.tensors
        return bool(lacking) or any(tensor.verdict.equal is None for tensor in self.tensors)


def compare_dumps(
    golden: Dump,
    target: Dump,
    *,
    numbers: NumberMap | None = None,
    thresholds: Thresholds | None = None,
    workers: int = 0,
    progress: Progress = lambda done, total: None,
) -> Comparison:
    """Compare two dumps, devices or rounds; with `workers` threads, of which 0 means none but this one.

    Raises UnlikePartsError if one is a single round and the other has several.
    """
    comparing = _Comparing(Comparison(str(golden.path), str(target.path)), numbers or NumberMap.same(), progress)
    round_pairs, notes = match_rounds(golden, target, comparing.numbers)
    comparing.result.notes += notes
    with PairComparer(thresholds or Thresholds(), workers) as comparer:
        comparing.run(round_pairs, comparer)
    return comparing.result


class _Comparing:
    """Rounds are matched as the workers want more of them, and judged when all their pairs have come back."""

    def __init__(self, result: Comparison, numbers: NumberMap, progress: Progress) -> None:
        self.result = result
        self.numbers = numbers
        self._progress = progress
        self._pairs_matched = 0
        self._rounds_matched = 0
        self._renamed: list[str] = []

    def run(self, round_pairs: list[RoundPair], comparer: PairComparer) -> None:
        done = 0
        firsts: list[tuple[int, WrongOperation]] = []
        found = comparer.outcomes(self._pairs(round_pairs))
        for place, group in groupby(found, key=lambda of_round: of_round[0]):
            compared = []
            for _, pair, outcome in group:
                compared.append(ComparedTensor(TensorPlace.of(pair.golden), TensorPlace.of(pair.target), outcome))
                done += 1
                self._progress(done, done if self._rounds_matched == 0 else self._estimate(len(round_pairs)))
            wrong = _judge(compared)
            self.result.tensors += compared
            self.result.wrong += wrong
            firsts += [(place, one) for one in wrong[:1]]
        if firsts:
            place, first = min(firsts, key=lambda one: _when(round_pairs[one[0]], one[1]))
            self.result.first = _with_feeds(first, round_pairs[place])
        self._note_renamed()

    def _pairs(self, round_pairs: list[RoundPair]) -> Iterator[tuple[int, Pair]]:
        """Yield the pairs of all rounds, each with the place of its round among them."""
        for place, round_pair in enumerate(round_pairs):
            matched = self._match(round_pair)
            self._rounds_matched += 1
            coarsest = _coarsest(matched)
            for golden, target in matched.pairs:
                self._look_at_names(golden, target)
                pair = Pair(golden, target, coarsest)
                if pair.is_known:
                    self._pairs_matched += 1
                    yield place, pair
                else:
                    self.result.unjudged += 1

    def _match(self, pair: RoundPair) -> Matched:
        for side, one in (("golden", pair.golden), ("target", pair.target)):
            if one is not None:
                self.result.problems += [f"{side}: {problem}" for problem in one.problems]
        if pair.golden is not None and pair.target is not None:
            matched = match_tensors(pair.golden, pair.target, self.numbers)
        else:
            golden = [] if pair.golden is None else pair.golden.tensors
            target = [] if pair.target is None else pair.target.tensors
            matched = Matched([], golden, target)
        self.result.only_golden += map(TensorPlace.of, matched.only_golden)
        self.result.only_target += map(TensorPlace.of, matched.only_target)
        return matched

    def _estimate(self, rounds: int) -> int:
        return self._pairs_matched * rounds // self._rounds_matched

    def _look_at_names(self, golden: StoredTensor, target: StoredTensor) -> None:
        """Kernels go by other names with other shapes, and plug-ins by their own; a layer that does may be another."""
        name, other = golden.op.components[0].name, target.op.components[0].name
        if name != other and golden.op.parent is None:
            renamed = f"{golden.op.full_name} with {target.op.full_name}"
            if renamed not in self._renamed:
                self._renamed.append(renamed)

    def _note_renamed(self) -> None:
        if self._renamed:
            count = len(self._renamed)
            others = f" and {count - 1} more" if count > 1 else ""
            self.result.notes.append(
                f"layers of two names have one id, and were compared: {self._renamed[0]}{others}; "
                "a map says where layers are shifted"
            )


def _coarsest(matched: Matched) -> str:
    return coarsest_of({tensor.row.dtype for pair in matched.pairs for tensor in pair if tensor.row is not None})


def _judge(compared: list[ComparedTensor]) -> list[WrongOperation]:
    """The operations of one round that are wrong, in order; pairs come in golden's order of execution."""
    by_op: dict[Ids, list[ComparedTensor]] = defaultdict(list)
    for tensor in compared:
        by_op[tensor.golden.ids].append(tensor)
    judged = [
        JudgedTensor(
            tensor.golden.ids,
            tensor.golden.io == "input",
            tensor.verdict.equal,
            position,
            is_same=tensor.outcome.is_same,
        )
        for position, tensor in enumerate(compared)
        if tensor.golden.ids
    ]
    return [WrongOperation(found, tuple(by_op[found.ids])) for found in wrong_operations(judged)]


def _when(pair: RoundPair, wrong: WrongOperation) -> tuple[int, int, int]:
    """Round, place in the round, device."""
    assert pair.golden is not None
    number, device = pair.golden.number, pair.golden.device.number
    return (number or 0, wrong.found.rank, -1 if device is None else device)


def _with_feeds(wrong: WrongOperation, pair: RoundPair) -> WrongOperation:
    assert pair.golden is not None
    verdicts = {tensor.golden: tensor.verdict for tensor in wrong.tensors}
    found = []
    for feed in feeds(pair.golden, wrong.found.ids):
        place = TensorPlace.of(feed.tensor)
        source = None if feed.source is None else TensorPlace.of(feed.source)
        found.append(FedBy(place, source, verdicts.get(place)))
    return WrongOperation(wrong.found, wrong.tensors, tuple(found))
