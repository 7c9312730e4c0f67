"""The options of load_atb_probe.sh: paths of every kind, mistyped words, and words of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from bash_session import Installation, assert_nothing_changed, messages
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/a/b", "/a/b"),
        ("/a//b/./c/", "/a/b/c"),
        ("/a/../b", "/a/../b"),
        ("/", "/"),
        ("with blank", "{cwd}/with blank"),
        (".", "{cwd}"),
        ("./x", "{cwd}/x"),
        ("../x", "{cwd}/../x"),
        ("~", "/nonexistent/home"),
        ("~/dump ++", "/nonexistent/home/dump ++"),
        ("~root/x", "/root/x"),
        ("~no-such-user/x", "{cwd}/~no-such-user/x"),
        ("a~/b", "{cwd}/a~/b"),
        ("数据/模型", "{cwd}/数据/模型"),
        ("a=b", "{cwd}/a=b"),
        ("'$(touch pwned)`touch pwned`\";*", "{cwd}/'$(touch pwned)`touch pwned`\";*"),
        ("two\nlines\n", "{cwd}/two\nlines\n"),
        ("--output=x", "{cwd}/--output=x"),
    ],
)
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_paths_become_absolute_and_are_kept_as_written(
    installation: Installation, written: str, path: str, locale: str
) -> None:
    answer = installation.bash('source "$LOAD" "--output=$1" "--config=$1"', written, environment={"LC_ALL": locale})
    expected = path.format(cwd=installation.prefix)
    if Path(expected).is_dir():  # fine for output, refused for config
        assert answer.probe_variables == {}
        answer = installation.bash('source "$LOAD" "--output=$1"', written)
    else:
        assert answer.environment["ATB_DUMP_CONFIG"] == expected
    assert answer.environment["ATB_OUTPUT_DIR"] == expected
    assert not (installation.prefix / "pwned").exists()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_any_name_survives(installation: Installation, name: str) -> None:
    path = f"/nonexistent/_{name}/x"
    answer = installation.bash(
        'source "$LOAD" "--output=$1" "--config=$1"', path, environment={"ATBPROBE_PYTHON": "/bin/true"}
    )
    assert answer.environment["ATB_OUTPUT_DIR"] == path
    assert answer.environment["ATB_DUMP_CONFIG"] == path


@pytest.mark.parametrize(
    "word",
    [
        "--outpt=/x",
        "--ouptut=/x",
        "--output",
        "--output=",
        "--outputs=/x",
        "--conf=/x",
        "--confg=/x",
        "--configs",
        "--config",
        "--Config=/x",
    ],
)
@pytest.mark.parametrize("leading", [(), ("--output=/fine", "--config=/fine")])
def test_a_mistyped_option_is_refused(installation: Installation, word: str, leading: tuple[str, ...]) -> None:
    answer = installation.bash('source "$LOAD" "$@"; echo $? >&2', *leading, word)
    said, status = messages(answer)
    assert word in said
    assert "--output=DIR" in said
    assert "--config=FILE" in said
    assert status == "1"
    assert_nothing_changed(answer)
    assert installation.watcher_calls() == []


def test_other_words_are_ignored(installation: Installation) -> None:
    words = [
        "serve",
        "--port=1",
        "--model_path",
        "-output=/x",
        "output=/x",
        "--",
        "--out",
        "--cfg=1",
        "--configuration=/x",
        "",
        "*",
    ]
    answer = installation.bash('source "$LOAD" "$@"', *words)
    assert answer.environment["ATB_OUTPUT_DIR"] == str(installation.prefix)
    assert answer.environment["ATB_DUMP_CONFIG"] == str(installation.scripts / "config.json")


def test_the_last_of_two_wins(installation: Installation) -> None:
    answer = installation.bash('source "$LOAD" --output=/a --output=/b')
    assert answer.environment["ATB_OUTPUT_DIR"] == "/b"


def test_output_must_not_be_a_file_nor_config_a_folder(installation: Installation) -> None:
    (installation.prefix / "file").touch()
    for option in ("--output=file", "--config=bin"):
        answer = installation.bash(f'source "$LOAD" {option}')
        assert option.partition("=")[0] in answer.stderr
        assert_nothing_changed(answer)
