"""The page of `compare -o` in a real browser: what it shows, sorts, searches and opens; hostile names do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import chromium
from dumped_model import SMALL, DumpedModel
from probed_host import NativeFile, command

from dump_files import bin_file, put

pytestmark = pytest.mark.needs_chromium

FAULTY = "1_Prefill_layer/1_Attention/1_LinearOperation"
HOSTILE = ["</script><img src=x onerror=document.title=1>", "<b>bold</b>", "\u202eabc\x1b[31m", "' onclick=x '"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, native_file: NativeFile) -> Path:
    """A folder with the page of a model with a fault, and one of hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    model = DumpedModel(folder / "model", native_file, [*SMALL, "--steps", "3"])
    golden, faulty = model.dump(), model.dump("--fault", f"{FAULTY}:scale=2")
    command("compare", str(golden), str(faulty), "-o", str(folder / "fault"), check=False)
    for number, name in enumerate(HOSTILE):
        for side, value in (("golden", 1.0), ("target", 2.0)):
            content = bin_file(np.full(3, value, np.float32).tobytes(), 0, "3")
            put(folder / side / f"0_1/0/{number}_{name.replace('/', '|')}/after/outtensor0_<i>.bin", content)
    command(
        "compare", str(folder / "golden/0_1"), str(folder / "target/0_1"), "-o", str(folder / "hostile"), check=False
    )
    return folder


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    with chromium(tmp_path / "profile") as driver:
        yield driver


def opened(browser: Any, page: Path) -> Any:
    browser.get((page / "compare_result.html").as_uri())
    return browser


def rows(browser: Any) -> list[list[str]]:
    found: list[list[str]] = browser.execute_script(
        "return [...document.querySelectorAll('#body tr')].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return found


def type_into_search(browser: Any, text: str) -> None:
    field = browser.find_element("id", "search")
    field.clear()
    field.send_keys(text)


def test_the_page_of_a_fault(pages: Path, browser: Any) -> None:
    page = opened(browser, pages / "fault")
    assert f"first operation that differs: {FAULTY} (round 0 of 0_" in page.find_element("id", "first").text
    assert "differs" in page.find_element("id", "counts").text
    assert FAULTY.rpartition("/")[2] in page.find_element("id", "tree").text  # opened as far as it
    assert "← first" in page.find_element("id", "tree").text

    type_into_search(page, f"{FAULTY} output")
    assert [(row[1], row[2], row[6]) for row in rows(page)] == [
        (f"{FAULTY}/0_PpMatMulF16Kernel", "output 0", "identical"),
        (FAULTY, "output 0_output", "differs"),
    ]
    type_into_search(page, "")
    page.find_element("id", "only").click()
    assert {row[6] for row in rows(page)} == {"differs"}

    heads = page.find_elements("css selector", "th")
    heads[8].click()
    distances = [float(row[8]) for row in rows(page)]
    assert distances == sorted(distances, reverse=True)
    page.find_elements("css selector", "th")[8].click()
    assert [float(row[8]) for row in rows(page)] == sorted(distances)


def test_a_click_in_the_tree_and_in_the_plot_shows_the_tensors(pages: Path, browser: Any) -> None:
    page = opened(browser, pages / "fault")
    leaf = next(one for one in page.find_elements("css selector", ".leaf") if "PpMatMul" in one.text)
    leaf.click()
    assert len(rows(page)) > 0
    assert all("PpMatMul" in row[1] for row in rows(page))
    drawn = page.execute_script("return [points.length, data.rows.filter(row => row[0] === 0).length]")
    assert 10 < drawn[0] < drawn[1]
    page.find_element("id", "inputs").click()
    assert page.execute_script("return points.length") == drawn[1]


def test_another_round(pages: Path, browser: Any) -> None:
    page = opened(browser, pages / "fault")
    page.execute_script("at('round').value = '1'; at('round').dispatchEvent(new Event('change'))")
    assert "Decoder_layer" in page.find_element("id", "tree").text
    assert "Prefill_layer" not in page.find_element("id", "tree").text


def test_hostile_names_are_text(pages: Path, browser: Any) -> None:
    page = opened(browser, pages / "hostile")
    assert page.title == "Comparison of two dumps"
    assert page.find_elements("css selector", "img, b") == []
    shown = {row[1] for row in rows(page)}
    assert f"0_{HOSTILE[0].replace('/', '|')}" in shown
    assert "\x1b" not in "".join(shown)
    assert "\u202e" not in "".join(shown)
