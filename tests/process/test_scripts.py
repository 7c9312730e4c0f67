"""load_atb_probe.sh and unload_atb_probe.sh in real shells: what they set, say and take away.

The interpreter is a stub that records its calls: what the watcher does is tested where the watcher is.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from bash_session import PLAIN_ENVIRONMENT, Installation, assert_nothing_changed, messages

MATH, DLOPEN = "libm.so.6", "libdl.so.2"


@pytest.mark.parametrize(
    ("home", "abi"),
    [("/opt/atb/cxx_abi_0", 0), ("/opt/atb/cxx_abi_1", 1), ("/opt/atb/cxx_abi_0/", 0), ("cxx_abi_1///", 1)],
)
def test_load_sets_the_three_variables(installation: Installation, home: str, abi: int) -> None:
    answer = installation.bash('source "$LOAD"; echo $?', environment={"ATB_HOME_PATH": home})
    assert answer.probe_variables == {
        "LD_PRELOAD": str(installation.library(abi)),
        "ATB_OUTPUT_DIR": str(installation.prefix),
        "ATB_DUMP_CONFIG": str(installation.scripts / "config.json"),
    }
    assert answer.stdout == "0\n"


def test_programs_started_afterwards_hold_the_library(installation: Installation) -> None:
    program = 'grep -c libatb_probe /proc/self/maps; source "$LOAD"; grep libatb_probe /proc/self/maps'
    first, *mapped = installation.bash(program).stdout.splitlines()
    assert first == "0"
    assert mapped
    assert all(line.endswith(str(installation.library(1))) for line in mapped)


def test_load_says_what_is_where_and_what_to_type_next(installation: Installation) -> None:
    config = installation.prefix / "my rules.json"
    said = messages(installation.bash('source "$LOAD" --output=out "--config=my rules.json"'))
    example = installation.scripts / "config_example.json"
    assert said == [
        f"atbprobe: loaded  {installation.library(1)}",
        f"atbprobe: rules   {config}",
        f"atbprobe: output  {installation.prefix}/out/atb_dump_data",
        f"atbprobe: next    cp {example} {str(config).replace(' ', chr(92) + ' ')}",
    ]


def test_once_there_are_rules_the_next_step_is_the_model(installation: Installation) -> None:
    (installation.prefix / "rules.json").write_text("{}")
    answer = installation.bash('PATH=/usr/bin:/bin; source "$LOAD" --config=rules.json')
    assert messages(answer)[-1].endswith(f"{installation.python} -m atbprobe_rules status")


@pytest.mark.parametrize("lead", ["source", "."])
def test_it_is_found_by_relative_path_by_link_and_on_path(
    installation: Installation, tmp_path: Path, lead: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/my_load.sh").symlink_to(installation.load)
    for name, directory, path in [
        ("load_atb_probe.sh", installation.scripts, ""),
        ("./load_atb_probe.sh", installation.scripts, ""),
        ("elsewhere/my_load.sh", tmp_path, ""),
        ("load_atb_probe.sh", tmp_path, str(installation.scripts)),
    ]:
        search_path = f"{path}:{PLAIN_ENVIRONMENT['PATH']}"
        answer = installation.bash(f"{lead} {name}", directory=directory, environment={"PATH": search_path})
        assert answer.probe_variables["LD_PRELOAD"] == str(installation.library(1)), name


def test_loading_twice_changes_nothing(installation: Installation, tmp_path: Path) -> None:
    program = f'source "$LOAD" --output=one --config=two; cd "{tmp_path}"; source "$LOAD"'
    assert installation.bash(program).probe_variables == {
        "LD_PRELOAD": str(installation.library(1)),
        "ATB_OUTPUT_DIR": str(installation.prefix / "one"),
        "ATB_DUMP_CONFIG": str(installation.prefix / "two"),
    }


def test_options_given_the_second_time_count(installation: Installation) -> None:
    answer = installation.bash('source "$LOAD" --output=/a --config=/b; source "$LOAD" --config=/c')
    assert answer.environment["ATB_OUTPUT_DIR"] == "/a"
    assert answer.environment["ATB_DUMP_CONFIG"] == "/c"
    calls = [call["arguments"][3:5] for call in installation.watcher_calls()]
    assert [config for _, config in calls] == ["/b", "/b", "/c"]  # held, released, held
    assert "--release" in installation.watcher_calls()[1]["arguments"]


def test_the_other_abi_takes_the_place(installation: Installation) -> None:
    program = 'export LD_PRELOAD=libm.so.6; source "$LOAD"; ATB_HOME_PATH=/x/cxx_abi_0; source "$LOAD"'
    answer = installation.bash(program)
    assert answer.environment["LD_PRELOAD"] == f"{installation.library(0)}:libm.so.6"
    assert installation.bash(f'{program}; source "$UNLOAD"').probe_variables == {"LD_PRELOAD": "libm.so.6"}


def test_an_entry_that_came_before_ours_stays_there(installation: Installation) -> None:
    program = 'source "$LOAD"; LD_PRELOAD=libm.so.6:$LD_PRELOAD; source "$LOAD"'
    assert installation.bash(program).environment["LD_PRELOAD"] == f"libm.so.6:{installation.library(1)}"


def test_a_rival_probe_in_front_is_named(installation: Installation, tmp_path: Path) -> None:
    rival = tmp_path / "libatb_probe_abi1.so"
    rival.write_bytes(installation.library(1).read_bytes())
    answer = installation.bash(f'source "$LOAD"; LD_PRELOAD={rival}:$LD_PRELOAD; source "$LOAD"')
    assert f"warning: {rival}" in answer.stderr
    answer = installation.bash(f'export LD_PRELOAD={rival}; source "$LOAD"')
    assert answer.environment["LD_PRELOAD"] == f"{installation.library(1)}:{rival}"
    assert "warning" not in answer.stderr


@pytest.mark.parametrize(
    "foreign",
    [MATH, f"{MATH}:{DLOPEN}", f"{MATH} {DLOPEN}", f" {MATH}", f"{MATH}:", f"{MATH}::{DLOPEN} ", ":", " "],
)
def test_unload_leaves_foreign_entries_byte_for_byte(installation: Installation, foreign: str) -> None:
    loaded = installation.bash('source "$LOAD"', environment={"LD_PRELOAD": foreign})
    assert loaded.environment["LD_PRELOAD"] == f"{installation.library(1)}:{foreign}"
    unloaded = installation.bash('source "$LOAD"; source "$UNLOAD"', environment={"LD_PRELOAD": foreign})
    assert unloaded.probe_variables == {"LD_PRELOAD": foreign}


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ("{ours}", None),
        ("{ours}:", None),
        ("{m}:{ours}", "{m}"),
        ("{m} {ours}", "{m}"),
        ("{m}:{ours}:{dl}", "{m}:{dl}"),
        ("{ours} {m}:{ours0}:{dl}", "{m}:{dl}"),
        ("{m}:{ours} {ours}", "{m}"),
    ],
)
def test_unload_finds_ours_wherever_it_has_got_to(installation: Installation, entries: str, left: str | None) -> None:
    names = {"ours": installation.library(1), "ours0": installation.library(0), "m": MATH, "dl": DLOPEN}
    preload = entries.format(**names)
    answer = installation.bash(f'source "$LOAD"; LD_PRELOAD="{preload}"; source "$UNLOAD"')
    assert answer.probe_variables == ({} if left is None else {"LD_PRELOAD": left.format(**names)})


def test_unload_without_load_changes_nothing(installation: Installation, tmp_path: Path) -> None:
    other_probe = tmp_path / "libatb_probe_abi1.so"
    other_probe.write_bytes(installation.library(1).read_bytes())
    before = {"LD_PRELOAD": str(other_probe), "ATB_OUTPUT_DIR": "/theirs", "ATB_DUMP_CONFIG": "/theirs.json"}
    answer = installation.bash('source "$UNLOAD"; echo $? >&2', environment=before)
    assert messages(answer)[-1] == "0"
    assert_nothing_changed(answer, before)


def test_unload_ignores_all_words(installation: Installation) -> None:
    answer = installation.bash('source "$LOAD"; source "$UNLOAD" --confg=x --output foo')
    assert answer.probe_variables == {}
    assert "not understood" not in answer.stderr
