"""Headless Chromium, for tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Start a browser; a page that left a message on its console fails the test."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",  # the tests may run as root
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--window-size=1200,900",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"), env=dict(os.environ))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
        messages = driver.get_log("browser")
    finally:
        driver.quit()
    assert messages == []
