"""ATBPROBE_IMAGE: rules without a watcher, a channel or Python, for the whole life of a process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from probed_host import ProbeCaller, Probed, command, image_of
from test_channel import dumps, needs_root, with_header
from threaded_host import DUMP_ALL, run_host

from atbprobe_rules.check import check_config
from atbprobe_rules.decide import decide

EVERYTHING: dict[str, Any] = {"dump_enable": True, "exec_range": "all", "save_child": True}
ON: dict[str, Any] = {"dump_enable": True}
LAYER = "0_1/0/0_WordEmbedding"
BELOW = f"{LAYER}/1_Attention"
KERNEL = f"{BELOW}/0_LinearKernel"
OTHER = "4_1/0/2_Prefill_layer"
FEATURES: dict[str, dict[str, Any]] = {
    "rounds": {"exec_range": "1-2|5-/3"},
    "rounds but one": {"exec_range": "!2"},
    "ids": {"exec_range": "all", "ids": "0_1"},
    "id ranges and below": {"exec_range": "all", "ids": "1-3,0_**"},
    "names": {"exec_range": "all", "op_name": "attention"},
    "name paths": {"exec_range": "all", "op_name": "/word*/**/*Kernel", "save_child": False},
    "exclusions": {"exec_range": "all", "op_name": "!*Kernel", "save_child": True},
    "match": {"exec_range": "all", "ids": "0_1", "op_name": "linear", "match": "all", "save_child": True},
    "device": {"exec_range": "all", "device": "4", "save_child": True},
    "rules": {"rules": [{"name": "a", "exec_range": "3", "ids": "2"}, {"name": "b", "exec_range": "0", "ids": "0"}]},
    "off": {"dump_enable": False, "exec_range": "all"},
}


def with_image(probed: Probed, rules: dict[str, Any]) -> Path:
    """Compile rules as a user would, take their config away, and let processes have the image alone."""
    probed.write(rules)
    image = probed.folder / "rules.image"
    command("compile", str(probed.config), "-o", str(image))
    probed.config.unlink()
    probed.extra_environment["ATBPROBE_IMAGE"] = str(image)
    return image


def is_selected(host: ProbeCaller, number: int, directory: str) -> bool:
    return bool(host.call("IsExecuteCountInRange", number) and host.call("IsSaveTensorInSpecificDir", directory))


@pytest.mark.parametrize("rules", FEATURES.values(), ids=FEATURES)
def test_each_feature_without_a_channel(probed: Probed, runtime_dir: Path, rules: dict[str, Any]) -> None:
    with_image(probed, {**ON, **rules})
    probed.write({**ON, **rules})
    selection = check_config(probed.config.read_bytes(), "config.json").require()
    asked = [(number, directory) for number in range(8) for directory in (LAYER, BELOW, KERNEL, OTHER)]
    expected = [bool(decide(selection, *question).rules) for question in asked]
    assert any(expected) == (rules is not FEATURES["off"])
    with probed.caller() as host:
        assert [is_selected(host, *question) for question in asked] == expected
    assert list(runtime_dir.iterdir()) == []


def test_next_and_io_and_files(probed_either: Probed, runtime_dir: Path) -> None:
    """What is more than a yes or no, with both ABIs, up to what is on disk."""
    probed = probed_either
    with_image(probed, {**ON, "next": 2, "io": "out", "task": "all"})
    with probed.caller() as host:
        answers = []
        for number in (7, 8, 9):
            assert is_selected(host, number, LAYER) == (number < 9)
            assert not host.call("IsSaveTensorBefore")
            answers.append(is_selected(host, number, LAYER) and host.call("IsSaveTensorAfter"))
            host.save_tensor(f"{LAYER}/after/outtensor{number}.bin", b"\0\0\0\0")
            host.call("ReportOperationIOTensorEnable")
        messages = host.end()
    assert answers == [True, True, False]
    assert {path for path in probed.files() if path.endswith(".bin")} == {
        f"{LAYER}/after/outtensor7.bin",
        f"{LAYER}/after/outtensor8.bin",
    }
    assert len(messages.splitlines()) == 1
    assert "Ready to dump ATB data" in messages
    assert list(runtime_dir.iterdir()) == []


def test_it_wins_over_a_config(probed: Probed, runtime_dir: Path) -> None:
    """Whatever is published for the config is nobody's business here."""
    image = with_image(probed, {**EVERYTHING, "ids": "0"})
    assert probed.environment()["ATB_DUMP_CONFIG"] == str(probed.config)
    with probed.caller() as host:
        assert dumps(host)
        assert list(runtime_dir.iterdir()) == []
        probed.publish({"dump_enable": False})
        image.unlink()
        assert dumps(host, number=1), "the file was read once"
    assert probed.process_count() == 0


def test_every_thread_is_told_yes_from_the_first_call(probed: Probed) -> None:
    with_image(probed, EVERYTHING)
    with probed.caller() as host:
        assert host.call("IsTensorNeedSave", thread=3)
        assert all(host.call("IsTensorNeedSave", thread=thread) for thread in (0, 1, 2))


def test_threads_that_set_up_at_the_same_time_lose_nothing(probed_either: Probed) -> None:
    probed = probed_either
    with_image(probed, DUMP_ALL)
    host = probed.native_file(f"first_setup_abi{probed.abi}")
    refused = [count for _ in range(50) for count in run_host(probed, host).values()]
    assert refused == [0] * 50


def test_a_forked_child_keeps_the_rules(probed: Probed, runtime_dir: Path) -> None:
    with_image(probed, {**ON, "next": 1})
    with probed.caller() as host:
        assert dumps(host)
        host.call("ReportOperationIOTensorEnable")
        assert not dumps(host, number=1)
        assert host.call("fork") is None
        assert host.call("IsTensorNeedSave")
        assert dumps(host, number=2), "what the parent had counted is not the child's"
        assert not dumps(host, number=3)
        messages = host.end()
    assert messages.count("Ready to dump ATB data") == 2, "two processes dump"
    assert list(runtime_dir.iterdir()) == []


def test_a_model_dumps_with_an_image(probed_either: Probed, runtime_dir: Path) -> None:
    probed = probed_either
    with_image(probed, {**EVERYTHING, "exec_range": "0", "op_name": "=WordEmbedding"})
    with probed.model() as model:
        model.step(2)
    ops = {path.split("/")[2].partition("_")[2] for path in probed.files() if path.endswith(".bin")}
    assert ops == {"WordEmbedding"}
    assert list(runtime_dir.iterdir()) == []


def test_a_link_is_followed_as_for_configs(probed: Probed) -> None:
    image = with_image(probed, EVERYTHING)
    link = image.with_name("link")
    link.symlink_to(image.name)
    probed.extra_environment["ATBPROBE_IMAGE"] = str(link)
    with probed.caller() as host:
        assert dumps(host)


def remove(image: Path) -> None:
    image.unlink()


def make_folder(image: Path) -> None:
    image.unlink()
    image.mkdir()


def make_pipe(image: Path) -> None:
    image.unlink()
    os.mkfifo(image, 0o600)


def make_device(image: Path) -> None:
    image.unlink()
    image.symlink_to("/dev/null")


def make_loop(image: Path) -> None:
    image.unlink()
    image.symlink_to(image.name)


def empty(image: Path) -> None:
    os.truncate(image, 0)


def make_huge(image: Path) -> None:
    os.truncate(image, (64 << 20) + 1)


def let_group_write(image: Path) -> None:
    image.chmod(0o660)


def let_all_write(image: Path) -> None:
    image.chmod(0o602)


def cut(image: Path) -> None:
    os.truncate(image, image.stat().st_size - 1)


def cut_header(image: Path) -> None:
    os.truncate(image, 40)


def flip_a_bit(image: Path) -> None:
    content = image.read_bytes()
    image.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def make_newer(image: Path) -> None:
    image.write_bytes(with_header(image.read_bytes(), version=2))


def write_config(image: Path) -> None:
    image.write_text('{"dump_enable": true}' + " " * 100, encoding="utf-8")


BAD_IMAGES: list[tuple[Callable[[Path], None], str]] = [
    (remove, "No such file or directory"),
    (make_folder, "it is not a regular file"),
    (make_pipe, "it is not a regular file"),
    (make_device, "it is not a regular file"),
    (make_loop, "Too many levels of symbolic links"),
    (empty, "it is empty"),
    (make_huge, "it has 67108865 bytes, and no program has more than 67108864"),
    (let_group_write, "its mode is 0660: others than its owner may write to it"),
    (let_all_write, "its mode is 0602: others than its owner may write to it"),
    (cut, "bad-length"),
    (cut_header, "too-short"),
    (flip_a_bit, "bad-checksum"),
    (make_newer, "other-version"),
    (write_config, "bad-magic"),
]


def assert_refused(probed: Probed, image: Path, reason: str) -> None:
    """One message, nothing dumped, no config taken in its place, and the host runs on."""
    probed.publish(EVERYTHING)
    with probed.caller() as host:
        assert not host.call("IsTensorNeedSave"), "nothing can ever be dumped here"
        assert not any(dumps(host, number) for number in range(3))
        assert not dumps(host, number=100)
        messages = host.end()
    assert messages == (
        "[atbprobe] ERROR: nothing is dumped by this process: cannot use the rules of "
        f"ATBPROBE_IMAGE={image}: {reason}\n"
    )
    assert not probed.data.exists()
    assert probed.process_count() == 0


@pytest.mark.parametrize(("spoil", "reason"), BAD_IMAGES, ids=[spoil.__name__ for spoil, _ in BAD_IMAGES])
def test_a_bad_image_is_refused_with_one_message(probed: Probed, spoil: Callable[[Path], None], reason: str) -> None:
    image = with_image(probed, EVERYTHING)
    spoil(image)
    assert_refused(probed, image, reason)


@needs_root
def test_an_image_of_another_user_is_refused(probed: Probed) -> None:
    image = with_image(probed, EVERYTHING)
    os.chown(image, 65534, 65534)
    assert_refused(probed, image, "it belongs to user 65534, and only a file of user 0 or of root is taken")


def test_an_empty_variable_is_none(probed: Probed) -> None:
    probed.publish(EVERYTHING)
    probed.extra_environment["ATBPROBE_IMAGE"] = ""
    with probed.caller() as host:
        assert dumps(host)
        assert probed.process_count() == 1


def test_what_compile_writes_is_the_watchers_program(probed: Probed) -> None:
    image = with_image(probed, EVERYTHING)
    probed.write(EVERYTHING)
    assert image.read_bytes() == image_of(probed.config)
