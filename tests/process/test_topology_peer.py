"""info/: the files are those that the published package writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph_calls import (
    BEYOND,
    NO_INPUTS,
    ON,
    REPORTING,
    by_name,
    info_files,
    layer,
    layer_call,
    model,
    model_call,
    reports_of_standin,
)
from probed_host import Probed
from replay import read_record

from benchmarks.published_peer import peer_library


@pytest.fixture
def peer(tmp_path: Path, native_file: Callable[[str], Path]) -> Probed:
    """The published package's library in place of ours."""
    library = peer_library(1)
    place = Probed(tmp_path / "peer", native_file, extra_environment={"LD_PRELOAD": str(library)})
    place.folder.mkdir()
    return place


def same_files(probed: Probed, peer: Probed, calls: list[tuple[int, str, list[object]]]) -> None:
    peer.write(ON)
    probed.publish(ON)
    with probed.caller() as host:
        host.call_all(calls)
    # It talks on stdout.
    with peer.caller() as other:
        other.send("".join("\t".join([str(thread), name, *map(str, given)]) + "\n" for thread, name, given in calls))
    files = by_name(info_files(peer))
    assert files
    assert by_name(info_files(probed)) == files


def calls_of(reports: list[dict[str, Any]]) -> list[tuple[int, str, list[object]]]:
    """Layers first: the peer does not give a model the layers that come after it."""
    ordered = sorted(reports, key=lambda call: call["fn"] == "ReportModelTopoInfo")
    return [
        (0, call["fn"], [call["args"].get("opName") or call["args"]["model"], call["args"]["graph"]])
        for call in ordered
    ]


@pytest.mark.peer
def test_the_files_of_a_model_are_the_peers(
    probed: Probed, peer: Probed, native_file: Callable[[str], Path], tmp_path: Path
) -> None:
    same_files(probed, peer, calls_of(reports_of_standin(native_file, 1, tmp_path)))


@pytest.mark.peer
@pytest.mark.parametrize("record", REPORTING)
def test_the_files_of_recorded_hosts_are_the_peers(probed: Probed, peer: Probed, record: str) -> None:
    same_files(probed, peer, calls_of([call for call in read_record(record) if call["fn"] == "ReportOperationGraph"]))


ODD_PARAM = (
    "[-0,-0.0,0.0,0e5,1E5,1e15,1e16,123456789012345.0,1234567890123456.0,0.0001,0.00001,1.50,8.056411743164063,1e-400,"
    "5e-324,1.7976931348623157e308,-9223372036854775808,-9223372036854775809,18446744073709551615,18446744073709551616,"
    '0.10000000000000001,9.999999999999999e+22,true,null,{},[],{"b":1,"a":2,"b":3},'
    r'"\u0000\u0001\b\f\n\r\t\u007f\u0080\u00e9\/\"\\\ud83d\ude00 é"]'
)


@pytest.mark.peer
@pytest.mark.parametrize(
    "graph",
    [
        f'{{"inTensorNum":0,"opName":"A_0","opType":"A","outTensorNum":0,"param":{ODD_PARAM}}}',
        ' {  "inTensorNum" :2, "opName":"A_0" ,"opType":"A","outTensorNum":0,"internalTensorNum":1 , "param":[ 1 ] } ',
        '\ufeff{"foo":1,"opName":"A_0","opType":"A","inTensorNum":1,"inTensorNum":2,"outTensorNum":1,"nodes":[]}',
        json.dumps(
            {**layer("A_0"), "nodes": [BEYOND, NO_INPUTS, {**BEYOND, "inTensorIds": [], "outTensorIds": [0, -1]}]}
        ),
    ],
    ids=["values", "blanks", "keys", "ids"],
)
def test_odd_files_are_the_peers(probed: Probed, peer: Probed, graph: str) -> None:
    same_files(probed, peer, [layer_call("A_0", graph), model_call("model", model("A", "A"))])
