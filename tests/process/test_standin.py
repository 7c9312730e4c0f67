"""The stand-in model: its arithmetic, its ground truth, its faults, and how it is controlled."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from standin_host import RECORDED_SHAPE, StandIn

DTYPES: dict[int, npt.DTypeLike] = {
    0: np.float32,
    1: np.float16,
    3: np.int32,
    9: np.int64,
    27: ml_dtypes.bfloat16,
}


@pytest.fixture
def standin(native_file: Callable[[str], Path]) -> StandIn:
    return StandIn.find(native_file, 1)


class GroundTruth:
    """What --expect wrote: the tensors by path, the process's folder left out."""

    def __init__(self, root: Path) -> None:
        self.tensors: dict[str, npt.NDArray[Any]] = {}
        self.full_paths: dict[str, str] = {}
        self.dtypes: dict[str, int] = {}
        for line in (root / "tensors.jsonl").read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            dims = [int(dim) for dim in entry["dims"].split(",")]
            path = entry["path"].partition("/")[2]
            data = (root / f"{entry['path']}.raw").read_bytes()
            self.tensors[path] = np.frombuffer(data, DTYPES[entry["dtype"]]).reshape(dims)
            self.full_paths[path] = entry["path"]
            self.dtypes[path] = entry["dtype"]

    def operations(self, name: str) -> list[str]:
        """Directories of all operations of that name, ``<setup>/<path>``."""
        folders = {path.rpartition("/")[0].rpartition("/")[0] for path in self.tensors}
        return sorted(folder for folder in folders if folder.endswith(f"_{name}"))

    def inputs(self, operation: str) -> list[npt.NDArray[Any]]:
        prefix = f"{operation}/before/intensor"
        return [tensor for path, tensor in self.tensors.items() if path.startswith(prefix)]

    def output(self, operation: str) -> npt.NDArray[Any]:
        (tensor,) = [value for path, value in self.tensors.items() if path.startswith(f"{operation}/after/")]
        return tensor


@pytest.fixture(scope="module")
def truth(native_file: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> GroundTruth:
    root = tmp_path_factory.mktemp("truth")
    StandIn.find(native_file, 1).run("--steps", "3", "--bf16-layer", "1", "--expect", str(root))
    return GroundTruth(root)


def test_all_its_types_occur(truth: GroundTruth) -> None:
    assert set(truth.dtypes.values()) == set(DTYPES)


def test_adding_rounds_once_as_numpy_does(truth: GroundTruth) -> None:
    adds = [name for name in truth.operations("ElewiseOperation") if len(truth.inputs(name)) == 2]
    assert len(adds) == 12  # two in each of two layers, three rounds
    for add in adds:
        x, y = truth.inputs(add)
        expected = (x.astype(np.float32) + y.astype(np.float32)).astype(x.dtype)
        np.testing.assert_array_equal(truth.output(add), expected)


def test_casting_rounds_as_numpy_does(truth: GroundTruth) -> None:
    casts = [name for name in truth.operations("ElewiseOperation") if len(truth.inputs(name)) == 1]
    assert {truth.output(cast).dtype for cast in casts} == {np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)}
    for cast in casts:
        (x,) = truth.inputs(cast)
        np.testing.assert_array_equal(truth.output(cast), x.astype(np.float32).astype(truth.output(cast).dtype))


def test_matrices_are_multiplied(truth: GroundTruth) -> None:
    for linear in truth.operations("LinearOperation"):
        x, weight = (tensor.astype(np.float64) for tensor in truth.inputs(linear))
        result = truth.output(linear)
        tolerance = {2: 1e-2, 4: 1e-5}[result.dtype.itemsize]
        np.testing.assert_allclose(result.astype(np.float64), x @ weight.T, rtol=tolerance, atol=tolerance)


def attention(q: Any, k: Any, v: Any, heads: int) -> Any:
    """Causal attention in double; the last query stands at the last key."""
    tokens, hidden = q.shape
    q, k, v = (np.moveaxis(rows.astype(np.float64).reshape(-1, heads, hidden // heads), 1, 0) for rows in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(hidden // heads)
    visible = np.tril(np.ones(scores.shape[1:], bool), k=scores.shape[2] - tokens)
    weights = np.exp(np.where(visible, scores, -np.inf))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.moveaxis(weights @ v, 0, 1).reshape(tokens, hidden)


def test_decoding_attends_to_the_prompt_and_all_tokens_since(truth: GroundTruth) -> None:
    in_first_layer = [
        next(name for name in truth.operations("SelfAttention") if name.startswith(place))
        for place in ("0/1_Prefill_layer", "0/6_Decoder_layer", "1/6_Decoder_layer")
    ]
    keys, values = np.empty((0, 64), np.float16), np.empty((0, 64), np.float16)
    for operation in in_first_layer:
        q, k, v, _, _, context_length = truth.inputs(operation)
        keys, values = np.vstack([keys, k]), np.vstack([values, v])
        assert context_length == len(keys)
        np.testing.assert_allclose(
            truth.output(operation).astype(np.float64), attention(q, keys, values, 4), rtol=1e-2, atol=2e-3
        )


def fnv_1a(data: bytes) -> str:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def test_the_probe_is_given_what_the_ground_truth_says(standin: StandIn, tmp_path: Path) -> None:
    root = tmp_path / "truth"
    records, _ = standin.record(
        tmp_path / "record.jsonl", "everything", "--steps", "2", *RECORDED_SHAPE[1:], "--expect", str(root)
    )
    compared = 0
    for record in records:
        if record["fn"] == "SaveTensor":
            path = record["args"]["filePath"]
            kept = path.split("/")[-2] + path.split("/")[-1][:2] in ("beforein", "afterou")
            assert (root / f"{path}.raw").is_file() == kept
            if kept:
                assert fnv_1a((root / f"{path}.raw").read_bytes()) == record["args"]["fnv"]
                compared += 1
        elif record["fn"] == "SaveParam":
            written = (root / f"{record['args']['filePath']}.raw").read_text(encoding="utf-8")
            assert written == record["args"]["param"]
    assert compared == len((root / "tensors.jsonl").read_text(encoding="utf-8").splitlines())


def test_old_outputs_and_overwritten_inputs_occur(standin: StandIn, tmp_path: Path) -> None:
    """Memory is used again, as on the device: only inputs before and outputs after are worth keeping."""
    records, _ = standin.record(tmp_path / "record.jsonl", "everything", "--steps", "1")
    seen = {call["args"]["filePath"]: call["args"]["fnv"] for call in records if call["fn"] == "SaveTensor"}
    overwritten = [
        path for path in seen if "/after/in" in path and seen[path] != seen[path.replace("/after/", "/before/")]
    ]
    old = [path for path in seen if "/before/out" in path and seen[path] != seen[path.replace("/before/", "/after/")]]
    assert any(path.endswith("1_Attention/after/intensor0.bin") for path in overwritten)
    assert len(old) > 10


def test_tokens_depend_on_the_options_alone(standin: StandIn, tmp_path: Path) -> None:
    plain = standin.run("--steps", "6", "--request-length", "3")
    assert plain == standin.run("--steps", "6", "--request-length", "3", "--expect", str(tmp_path / "truth"))
    recorded = {
        "LD_PRELOAD": str(standin.recorder),
        "STANDIN_RECORD_FILE": str(tmp_path / "record.jsonl"),
    }
    assert plain == standin.run("--steps", "6", "--request-length", "3", environment=recorded)
    assert plain != standin.run("--steps", "6", "--request-length", "3", "--seed", "2")


@pytest.mark.parametrize(
    ("target", "operation"),
    [
        ("1_1_3_0", "0/1_Prefill_layer/1_Attention/3_FusionAttention/0_SelfAttention"),
        ("1_Prefill_layer/4_Mlp", "0/1_Prefill_layer/4_Mlp"),
        ("1_0_0", "0/1_Prefill_layer/0_RmsNormOperation/0_RmsNormKernel"),
        ("LmHead", "0/4_LmHead"),
    ],
)
def test_a_fault_is_in_the_output_of_its_operation(
    standin: StandIn, target: str, operation: str, tmp_path: Path
) -> None:
    outputs = {}
    for kind in ("scale=1", "nan", "inf", "scale=4"):
        root = tmp_path / kind
        standin.run("--steps", "1", "--fault", f"{target}:{kind}", "--expect", str(root))
        outputs[kind] = GroundTruth(root).output(operation).astype(np.float32)
    assert np.isfinite(outputs["scale=1"]).all()
    assert np.isnan(outputs["nan"]).sum() == 1
    assert np.isposinf(outputs["inf"]).sum() == 1
    np.testing.assert_array_equal(outputs["scale=4"], 4 * outputs["scale=1"])


def test_a_fault_begins_at_its_round(standin: StandIn, tmp_path: Path) -> None:
    standin.run("--steps", "3", "--always-prefill", "--fault", "LmHead@2", "--expect", str(tmp_path))
    truth = GroundTruth(tmp_path)
    assert [bool(np.isnan(truth.output(f"{n}/4_LmHead")).any()) for n in range(3)] == [False, False, True]


def test_control_steps_on_command(standin: StandIn) -> None:
    with subprocess.Popen(
        [standin.model, "--control", "--threads", "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == f"ready {process.pid}\n"
        for command, answer in [("step 3", "done 3"), ("dance", "error unknown command"), ("step 2", "done 5")]:
            print(command, file=process.stdin, flush=True)
            assert process.stdout.readline() == f"{answer}\n"
        print("report", file=process.stdin, flush=True)
        report = json.loads(process.stdout.readline())
        assert (report["steps"], report["executes"]) == (5, 5 * 5 * 2)
        print("quit", file=process.stdin, flush=True)
        assert process.wait() == 0


@pytest.mark.parametrize("options", [["--control"], ["--forever", "--threads", "3", "--interval-ms", "1"]])
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(standin: StandIn, options: list[str], sent: signal.Signals, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with subprocess.Popen(
        [standin.model, *options, "--report", str(report)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()  # it runs
        process.send_signal(sent)
        process.stdout.read()
        assert process.wait() == 0
    assert json.loads(report.read_text(encoding="utf-8"))["pid"] == process.pid


@pytest.mark.parametrize(
    "options",
    ["--steps -1", "--heads 3", "--fault LmHead:zero", "--device 0,,1", "--bf16-layer 2", "extra", "--dtype f8"],
)
def test_wrong_usage_is_refused(standin: StandIn, options: str) -> None:
    done = subprocess.run([standin.model, *options.split()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("standin_model")


def test_help_names_every_option_that_is_used_here(standin: StandIn) -> None:
    text = standin.run("--help")
    for option in ("--steps", "--forever", "--control", "--fault", "--expect", "--report", "--device"):
        assert f"\n  {option} " in text
