"""``atbprobe-rules run``: one command with the probe loaded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import click

_LOAD_AND_EXEC = """
script=$1 options=$2
shift 2
_atbprobe_runs_command=1 source "$script" "${@:1:options}" || exit 1
shift "$options"
exec -- "$@"
"""


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--config",
    type=click.Path(path_type=Path, readable=False),
    help="The config file, which may be written later; default: $ATB_DUMP_CONFIG, else ./config.json.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, readable=False),
    help="The folder that atb_dump_data/ is made in; default: the working directory.",
)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(config: Path | None, output: Path | None, words: tuple[str, ...]) -> NoReturn:
    """Run COMMAND with the probe loaded, and the config watched for as long as it runs.

    What load_atb_probe.sh does to a shell is done to this one command: nothing of it stays behind in the shell. The
    exit code is the command's, or 1 if the probe cannot be loaded on this machine.
    """
    from atbprobe_rules.installation import script_folder

    bash = shutil.which("bash")
    if bash is None:
        raise click.ClickException("there is no bash, which loads the probe")
    if shutil.which(words[0]) is None:
        raise click.UsageError(f"there is no program {words[0]}")
    path = config or Path(os.environ.get("ATB_DUMP_CONFIG") or "config.json")
    options = [f"--config={path}", *([f"--output={output}"] if output is not None else [])]
    script = str(script_folder() / "load_atb_probe.sh")
    # The shell becomes the command: the watcher is held by that process for as long as it lives.
    arguments = [script, str(len(options)), *options, *words]
    os.execv(bash, ["bash", "--noprofile", "--norc", "-c", _LOAD_AND_EXEC, "atbprobe-rules", *arguments])
