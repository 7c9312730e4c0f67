"""The page of `explain --html` in a real browser: what it shows, what a click and a search do, and that it says what
the command line says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import chromium

pytestmark = pytest.mark.needs_chromium

CONFIG = {
    "dump_enable": True,
    "exec_range": "0-20/10",
    "rules": [
        {"name": "a look", "ids": "1_**", "op_name": "!*kernel"},
        {"op_name": "mlp", "device": "1", "match": "any"},
    ],
}
HOSTILE = '</script><img src=x onerror="document.title=1"> \u202eabc'
LAYERS = 40
MANY_LAYERS = 1_300  # times 77 operations


def op_list(layers: int) -> str:
    lines = []
    for layer in range(layers):
        for op in range(4):
            lines += [f"0_7/0/{layer}_Decoder_layer/{op}_Op{op}/{part}_Part{part}/0_XKernel" for part in range(9)]
    lines.append("0_7/0/999999_Plugin/0_" + HOSTILE.replace("/", "|"))
    return "".join(line + "\n" for line in lines)


def explain(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "atbprobe_rules", "explain", str(folder / "config.json"), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small page and one of 100,000 operations."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    for name, layers in (("small", LAYERS), ("large", MANY_LAYERS)):
        (folder / f"{name}.txt").write_text(op_list(layers))
        explain(folder, "--on", str(folder / f"{name}.txt"), "--html", str(folder / f"{name}.html"))
    return folder


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    with chromium(tmp_path / "profile") as driver:
        driver.implicitly_wait(10)
        yield driver


def open_page(browser: Any, path: Path) -> None:
    browser.get(path.as_uri())


def patient(browser: Any) -> Any:
    """Waits for what is to be seen; a row may be drawn anew between being found and being read."""
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(browser, 30, ignored_exceptions=[StaleElementReferenceException])


def text_of(browser: Any, name: str) -> str:
    text: str = browser.find_element("id", name).text
    return text


def row_with(browser: Any, name: str) -> Any:
    return patient(browser).until(lambda _: next((row for row in rows(browser) if name in row.text), None))


def rows(browser: Any) -> list[Any]:
    found: list[Any] = browser.find_elements("css selector", ".row")
    return found


def search_for(browser: Any, text: str) -> None:
    """Type, and wait for the answer that belongs to it."""
    from selenium.webdriver.support.wait import WebDriverWait

    field = browser.find_element("id", "search")
    field.clear()
    field.send_keys(text)
    WebDriverWait(browser, 30).until(lambda _: text_of(browser, "shown").endswith("found"))


def test_counts_are_those_of_the_command_line(browser: Any, pages: Path) -> None:
    open_page(browser, pages / "small.html")
    told = json.loads(explain(pages, "--on", str(pages / "small.txt"), "--json"))
    assert told["selected"] > 0
    assert text_of(browser, "counts") == (
        f"{told['selected']} of {told['operations']:,} operations selected, rounds 0, 10, 20"
    )
    sentences = [item.text for item in browser.find_elements("css selector", "#sentences li")]
    assert sentences[0] == f"rule a look {told['rules'][0]['sentence']}"
    browser.find_element("id", "unfold").click()
    counted = browser.execute_script(
        "const data = JSON.parse(document.getElementById('data').textContent).nodes;"
        "return data.selected.reduce((sum, one) => sum + one, 0);"
    )
    assert counted == told["selected"]


def test_alike_layers_are_folded_until_asked_for(browser: Any, pages: Path) -> None:
    open_page(browser, pages / "small.html")
    shown = [row.text for row in rows(browser)]
    more = next(row for row in rows(browser) if "more Decoder_layer alike" in row.text)
    assert f"{LAYERS - 3} more Decoder_layer alike" in more.text
    more.click()
    assert len(rows(browser)) > len(shown)


def test_a_search_narrows_to_what_it_finds_and_what_is_above(browser: Any, pages: Path) -> None:
    open_page(browser, pages / "small.html")
    search_for(browser, "1_2_3")
    assert text_of(browser, "shown") == "1 found"
    assert "3_Part3" in rows(browser)[-1].text
    assert len(rows(browser)) == 4


def test_a_click_says_why(browser: Any, pages: Path) -> None:
    open_page(browser, pages / "small.html")
    search_for(browser, "1_2_3")
    row_with(browser, "3_Part3").find_element("css selector", ".name").click()
    why = text_of(browser, "why")
    assert text_of(browser, "verdict") == "selected"
    assert 'ids "1_**" matches' in why
    search_for(browser, "5_2_3")
    row_with(browser, "3_Part3").find_element("css selector", ".name").click()
    why = text_of(browser, "why")
    assert text_of(browser, "verdict") == "not selected"
    told = json.loads(explain(pages, "--on", str(pages / "small.txt"), "--why", "5_2_3", "--json"))
    [answer] = told["answers"]
    for rule in answer["rules"]:
        assert f"to select it: {'; and '.join(change['text'] for change in rule['changes'])}" in why
    assert '"1_**,5_2_3"' in why


def test_a_hostile_name_is_text(browser: Any, pages: Path) -> None:
    open_page(browser, pages / "small.html")
    search_for(browser, "onerror")
    assert text_of(browser, "shown") == "1 found"
    assert "<img src=x" in row_with(browser, "onerror").text
    assert "\u202e" not in browser.page_source
    assert browser.execute_script("return document.images.length") == 0
    assert browser.title.startswith("What ")


def test_a_hundred_thousand_operations(browser: Any, pages: Path) -> None:
    """Only what is seen is in the document; the last one can be scrolled to and found."""
    open_page(browser, pages / "large.html")
    assert text_of(browser, "counts").startswith(f"41 of {MANY_LAYERS * 77 + 2:,} operations selected")
    browser.find_element("id", "unfold").click()
    assert 0 < len(rows(browser)) < 200
    browser.execute_script("const tree = document.getElementById('tree'); tree.scrollTop = tree.scrollHeight;")
    patient(browser).until(lambda _: "onerror" in rows(browser)[-1].text)
    assert len(rows(browser)) < 200
    search_for(browser, "xkernel")
    assert text_of(browser, "shown") == f"{MANY_LAYERS * 36:,} found"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser: Any, pages: Path, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    open_page(browser, pages / "small.html")
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")) > 3 * 128
    assert light == (scheme == "light")
