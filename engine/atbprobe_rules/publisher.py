"""From a config file to rules in force: looks at the file, and publishes it or says why not.

A valid file is published at once. A file that is invalid, unreadable or gone may be an editor in the middle of a save,
so it counts only if a second look, after a short quiet time, still finds the same. Then an invalid one is reported,
once, and the last good rules stay; a deleted one turns dumping off.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from atbprobe_rules.channel import REJECTED_NOTE, Channel, ChannelError
from atbprobe_rules.check import check_config
from atbprobe_rules.compiled_config import compile_config
from atbprobe_rules.compiler import compile_selection
from atbprobe_rules.config_file import NO_FILE_HASH, Reading, read_config_file
from atbprobe_rules.file_check import check_reading
from atbprobe_rules.image import encode
from atbprobe_rules.program import Program

QUIET_SECONDS = 0.3

Report = Callable[[str], None]


class Publisher:
    """Keeps the rules of a channel as the config file says. One at a time for a channel: the watcher has it."""

    def __init__(self, channel: Channel, config: Path, report: Report) -> None:
        self._channel = channel
        self._config = config
        self._report = report
        self._settled: Reading | None = None
        self._doubtful: Reading | None = None
        self._doubtful_until = 0.0
        self._published_hash = _hash_in_force(channel)

    def look(self, now: float) -> float | None:
        """Look at the file, `now` being seconds on a clock that never goes back.

        Returns when to look again even if nothing is heard of the file; None: whenever.
        """
        reading = read_config_file(self._config)
        if reading == self._settled:
            self._doubtful = None
            return None
        if reading.data is not None and self._publish_if_valid(reading):
            self._settle(reading)
            return None
        if reading != self._doubtful:
            self._doubtful = reading
            self._doubtful_until = now + QUIET_SECONDS
        if now < self._doubtful_until:
            return self._doubtful_until
        self._refuse(reading)
        self._settle(reading)
        return None

    def _settle(self, reading: Reading) -> None:
        self._settled = reading
        self._doubtful = None

    def _publish_if_valid(self, reading: Reading) -> bool:
        if reading.content_hash != self._published_hash:
            compiled = compile_config(reading, self._config)
            if compiled.program is None:
                return False
            self._publish(compiled.program)
            if compiled.checked.diagnostics:
                self._report(compiled.checked.render())
        self._channel.write_note(REJECTED_NOTE, None)
        return True

    def _publish(self, program: Program) -> None:
        generation = self._channel.publish(encode(program))
        self._published_hash = program.config_hash
        self._report(f"{self._config}: in force as generation {generation}")

    def _refuse(self, reading: Reading) -> None:
        if reading.missing:
            self._turn_off()
        elif reading.data is not None:
            checked = compile_config(reading, self._config).checked
            self._reject(checked.to_json(), checked.render(), reading.content_hash)
        elif reading.fault is not None:
            note = check_reading(reading, self._config).to_json()
            self._reject(note, reading.fault, reading.content_hash)

    def _turn_off(self) -> None:
        self._channel.write_note(REJECTED_NOTE, None)
        if self._published_hash in (None, NO_FILE_HASH):
            self._report(f"{self._config}: no such file yet; nothing is dumped until there is one")
            return
        self._publish(dumping_off())
        self._report(f"{self._config} was deleted: dumping is off")

    def _reject(self, note: dict[str, Any], text: str, content_hash: bytes) -> None:
        self._channel.write_note(REJECTED_NOTE, {**note, "content_hash": content_hash.hex(), "text": text})
        self._report(f"{text}\n{self._config}: refused; the last good rules stay in force")


def _hash_in_force(channel: Channel) -> bytes | None:
    try:
        published = channel.published()
    except ChannelError:
        return None  # a damaged image; the next one takes its place
    return None if published is None else bytes.fromhex(published.config_hash)


def warm_up() -> None:
    """Build the parsers and load what compiles, so that nobody waits for that at the first edit."""
    selection = check_config(b'{"ids": "0", "op_name": "a", "device": "0"}', "").require()
    compile_selection(selection, NO_FILE_HASH)


def dumping_off() -> Program:
    """Return the rules of a config that is not there."""
    selection = check_config(b"{}", "").require()
    return compile_selection(selection, NO_FILE_HASH)
