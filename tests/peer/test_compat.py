"""What `check --compat` says of a file, against the published library: it dumps under the file what the config that
its reading is said to come to dumps here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from library_run import OURS, Dump, Library, caller_of, run_model
from probed_host import Probed

from atbprobe_rules.check import check_config
from atbprobe_rules.compat import PUBLISHED_LEVELS, PublishedReading, read_as_published
from atbprobe_rules.config_file import read_config_file
from atbprobe_rules.diagnostics import Code
from atbprobe_rules.file_check import check_file

pytestmark = pytest.mark.peer

# The model runs on device 3: WordEmbedding 0, two steps' layers and LmHeads after it, three rounds of the first.
PLAIN = {"dump_enable": True, "filter_level": 0, "exec_range": "all"}
FIELDS: dict[str, tuple[object, ...]] = {
    "exec_range": (
        *("ALL", " all", "none ", "1", "", "1,", ",1", "0,0,", "0,-1", "0,0,1", "2,1", "2,0,1,1", "-1,3", "-2,-1"),
        *(" 0, 1 ", "+0,01", "1x,x", "x,1", "0.9,1", "0,99999999999", "1,1,2,-1", "0,1|2,2", "1-2", "!0", "all,0"),
        *("0,1\0,2,2", "1 1,1", "0x1,1", "00000000000000000000000,0", ",", 1, None, ["0"]),
    ),
    "ids": (
        *(
            " 0",
            "0, 1_1",
            "1_1 ,0",
            "01,0",
            "0-1",
            "*_1",
            "1_**",
            "!0",
            "0,!1",
            "0,",
            ",,0",
            ",",
            " ",
            "0;1",
            "1_",
            "-0",
        ),
        *("99999999999999999999", "0\0,1", 0, None, ["0"], True),
    ),
    "op_name": (
        *("word, lmhead", "word ", "WORD,,lm", ",", " ", "wo*", "?ord", "[w]ord", "=wordembedding", "/word", "!word"),
        *("prefill_layer/attention", "word,!lm", "w\\ord", "wörd,word", 7, None),
    ),
    "device": ("3, 0", " 3", "3,", "03", "0-3", "!0", "0-9", "3_", " ", ",", 3, None, "3\0,"),
    "task": ("", None, 1),
    "dump_enable": ("true", 1, None, False),
    "save_child": ("true", 1, None),
    # keys that it does not know
    "id": ("0",),
    "match": ("all",),
    "io": ("in",),
    "next": (1,),
    "rules": ([{"ids": "0"}],),
    "when": ("nan",),
    "stop_after": (1,),
    "max_bytes": (1, "1 B"),
    "max_tensor_bytes": (1,),
}
LEVELS: tuple[object, ...] = (3, -1, 2.9, 0.9, -0.9, True, False, None, "0", 1e3, 2**32, 2**32 + 2, 2**63, 2**64)
WITH_CHILDREN: tuple[dict[str, object], ...] = (
    {"op_name": "prefill_layer/att"},
    {"op_name": "/prefill_layer,word"},
    {"op_name": "Prefill//Att,layer/att,att"},
    {"op_name": "attention*, lmhead"},
    {"ids": "1_1, 0"},
    {"ids": "1,!1_1"},
    {"ids": "1_", "op_name": "word"},
)
TEXTS = {
    "text behind": '{"dump_enable": true, "exec_range": "all", "filter_level": 0} x',
    "an object behind": '{"dump_enable": true, "ids": "0", "filter_level": 0}{"ids": ""}',
    "a mark before": '\ufeff{"dump_enable": true, "ids": "0", "filter_level": 0}',
    "a key twice": '{"dump_enable": true, "ids": "1", "filter_level": 0, "ids": "0"}',
    "a key twice, the last of a wrong type": '{"dump_enable": true, "ids": "1", "filter_level": 0, "ids": 0}',
    "escapes": '{"dump_enable": true, "\\u0069ds": "\\u0030", "filter_level": 0}',
    "bytes behind that are no text": '{"dump_enable": true, "ids": "0", "filter_level": 0} \udcff',
    "no object": "[]",
}
UNREADABLE = {
    "empty": "",
    "blank": " \n",
    "a comment": '{"dump_enable": true /* so */}',
    "a comma too many": '{"dump_enable": true,}',
    "a comma too few": '{"dump_enable": true "ids": "0"}',
    "cut off": '{"dump_enable": true',
    "a bad escape": '{"dump_enable": true, "ids": "\\x30"}',
    "half a character": '{"dump_enable": true, "ids": "\\ud800"}',
    "a control character": '{"dump_enable": true, "ids": "\t0"}',
    "a leading zero": '{"dump_enable": true, "filter_level": 01}',
    "a number beyond all": '{"dump_enable": true, "x": [1e400]}',
    "bytes that are no text": '{"dump_enable": true, "x": "\udcff"}',
    "two marks": '\ufeff\ufeff{"dump_enable": true}',
}


def written_configs() -> dict[str, str]:
    configs: dict[str, dict[str, object]] = {}
    for field, values in FIELDS.items():
        for value in values:
            configs[f"{field} {json.dumps(value)}"] = {**PLAIN, field: value}
    for more in WITH_CHILDREN:
        configs[f"{json.dumps(more)} and below"] = {**PLAIN, "save_child": True, **more}
    return {name: json.dumps(config) for name, config in configs.items()} | TEXTS


WRITTEN = written_configs()


def read(text: str) -> PublishedReading:
    return read_as_published(check_config(text.encode("utf-8", "surrogateescape"), "config.json"))


@dataclass(frozen=True)
class PeerWithText(Library):
    """The published library, given a file that holds this text."""

    text: str = ""
    mode: int = 0o600
    linked: bool = False

    def take(self, place: Probed, rules: dict[str, Any]) -> None:
        assert not rules
        file = place.config.with_name("real.json") if self.linked else place.config
        file.write_bytes(self.text.encode("utf-8", "surrogateescape"))
        file.chmod(self.mode)
        if self.linked:
            place.config.symlink_to(file)


@pytest.fixture(scope="module")
def plain_dumps() -> dict[str, Dump]:
    """What was dumped here, by the config: many readings come to the same."""
    return {}


def run_peer(text: str, folder: Path, native_file: Callable[[str], Path], *options: str) -> Dump:
    library = PeerWithText("peer", is_ours=False, text=text)
    return run_model(library, library.place(folder, native_file, 1), {}, options)


@pytest.mark.parametrize("name", WRITTEN)
def test_the_reading_is_what_the_published_library_dumps(
    tmp_path: Path, native_file: Callable[[str], Path], plain_dumps: dict[str, Dump], name: str
) -> None:
    config = read(WRITTEN[name]).config
    assert config is not None
    key = json.dumps(config)
    if key not in plain_dumps:
        plain_dumps[key] = run_model(OURS, OURS.place(tmp_path, native_file, 1), config)
    # Not the rows of statistic.csv: the threads of the peer tear some.
    assert run_peer(WRITTEN[name], tmp_path, native_file).files == plain_dumps[key].files


def test_the_readings_are_of_all_kinds(plain_dumps: Mapping[str, Dump]) -> None:
    """Runs after them; otherwise equal could mean empty."""
    if len(plain_dumps) < 10:
        pytest.skip("the readings were not all run")
    assert sum(bool(dump.files) for dump in plain_dumps.values()) > len(plain_dumps) / 2
    assert {bool(dump.files) for dump in plain_dumps.values()} == {True, False}


def test_levels(tmp_path: Path, native_file: Callable[[str], Path]) -> None:
    """Its own levels leave out what ours do not, so that it is compared with itself."""

    folders = (tmp_path / str(number) for number in count())

    def files_under(level: object) -> dict[str, bytes]:
        text = json.dumps({"dump_enable": True, "save_child": True, "filter_level": level})
        return run_peer(text, next(folders), native_file, "--plain-names").files

    plain = {level: files_under(level) for level in PUBLISHED_LEVELS}
    assert len({frozenset(files.items()) for files in plain.values()}) == len(plain)
    for level in LEVELS:
        config = read(json.dumps({"filter_level": level})).config
        assert config is not None
        assert files_under(level) == plain[config["filter_level"]], level


def test_a_name_that_ends_in_a_slash(tmp_path: Path, native_file: Callable[[str], Path]) -> None:
    """All below an operation of that name, without it."""
    config = read(json.dumps({**PLAIN, "op_name": "prefill_layer/", "save_child": True})).config
    assert config is not None
    assert config["op_name"] == "prefill_layer/*"
    there = run_peer(json.dumps({**config, "op_name": "prefill_layer/"}), tmp_path, native_file)
    here = run_model(OURS, OURS.place(tmp_path, native_file, 1), {**config, "op_name": "prefill_layer"})
    layer = "3_PID/0/1_Prefill_layer"
    own = {path for path in here.files if re.fullmatch(rf"{layer}(/before|/after)?/[^/]+", path)}
    assert own
    assert there.files == {path: content for path, content in here.files.items() if path not in own}


@pytest.mark.parametrize("task", ["Tensor", "stats", " all"])
def test_a_word_that_is_no_task(tmp_path: Path, native_file: Callable[[str], Path], task: str) -> None:
    """Rows with paths to nothing: no config here comes to that."""
    text = json.dumps({**PLAIN, "task": task})
    assert read(text).config is None
    assert Code.COMPAT_NOTHING in {note.code for note in read(text).notes}
    there = run_peer(text, tmp_path, native_file)
    assert there.rows
    assert {path.rpartition("/")[2] for path in there.files} <= {"op_param.json"}


@pytest.mark.parametrize("file", [{"mode": 0o620}, {"mode": 0o602}, {"linked": True}], ids=str)
def test_a_file_that_it_does_not_read(
    tmp_path: Path, native_file: Callable[[str], Path], file: dict[str, int | bool]
) -> None:
    text = json.dumps(PLAIN)
    assert run_peer(text, tmp_path, native_file).files
    library = PeerWithText("file", is_ours=False, text=text, **file)
    place = library.place(tmp_path, native_file, 1)
    assert run_model(library, place, {}).files == {}
    answer = check_file(read_config_file(place.config, from_anybody=True), place.config, compat=True)
    assert answer.published is not None
    assert answer.published.config is None
    assert Code.COMPAT_UNREADABLE in {note.code for note in answer.published.notes}


def test_the_unknown_device(tmp_path: Path, native_file: Callable[[str], Path]) -> None:
    text = json.dumps({**PLAIN, "device": "-1"})
    assert read(text).config is None
    library = PeerWithText("peer", is_ours=False, text=text)
    place = library.place(tmp_path, native_file, 1)
    library.take(place, {})
    with caller_of(place) as host:
        host.call("IsTensorNeedSave")
        host.call("UpdateConfig")
        for device in (-1, 0):
            host.save_tensor(f"{device}_{host.pid}/0/0_WordEmbedding/before/intensor0.bin", bytes(4))
    assert {path.partition("_")[0] for path in place.files()} == {"-1"}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_neither_reads(tmp_path: Path, native_file: Callable[[str], Path], name: str) -> None:
    reading = read(UNREADABLE[name])
    assert reading.config is None
    assert [note.code for note in reading.notes] == [Code.COMPAT_UNREADABLE]
    assert run_peer(UNREADABLE[name], tmp_path, native_file).files == {}
