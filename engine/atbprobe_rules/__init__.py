"""Rules for dumping what the operations of an ATB model compute: parsed, checked, decided, published.

    checked = parse_config('{"dump_enable": true, "ids": "2_1"}', "config.json")
    selection = checked.require()

    with Watcher("/path/to/config.json"):
        ...  # its rules, and every edit of them, are in force in the processes that have the probe loaded

Importing the package costs next to nothing; the parser is built with the first config.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from atbprobe_rules.check import CheckedConfig, ConfigError
    from atbprobe_rules.watch import AlreadyWatchedError, Watcher

__all__ = ["AlreadyWatchedError", "CheckedConfig", "ConfigError", "Watcher", "__version__", "parse_config"]


def parse_config(text: str | bytes, filename: str = "<string>") -> CheckedConfig:
    """Check the text of a config; `filename` is what diagnostics call it.

    Never raises on account of the text: see the result's `ok`, `diagnostics` and `require()`.
    """
    from atbprobe_rules.check import check_config

    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return check_config(data, filename)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _installed_version()
    if name in ("CheckedConfig", "ConfigError"):
        from atbprobe_rules import check

        return getattr(check, name)
    if name in ("AlreadyWatchedError", "Watcher"):
        from atbprobe_rules import watch

        return getattr(watch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _installed_version() -> str:
    """Return the version of the installed distribution; the files alone, uninstalled, have none."""
    from importlib import metadata

    try:
        return metadata.version("atbprobe-rules")
    except metadata.PackageNotFoundError:
        return "0+uninstalled"
