# shellcheck shell=bash
# Loads the ATB probe into the programs that this shell starts from now on.
#
#     source load_atb_probe.sh [--output=DIR] [--config=FILE]
#
# All the work is done by probe_environment.sh, in a bash of its own. It prints a few assignments, and evaluating them
# is the only thing that happens in the shell of the caller: no variable, function or option of theirs can disturb the
# work, and none of ours is left behind. Returns 0 when the probe is loaded and when it could not matter (no Ascend
# environment), and 1 when loading was refused.

if [ -z "${BASH_VERSION-}" ]; then
    echo "atbprobe: load_atb_probe.sh is for bash; nothing was changed" >&2
    return 1
fi
if ! (\builtin return 0 2>/dev/null); then
    \builtin echo "atbprobe: running load_atb_probe.sh changes nothing; type: source $0" >&2
    \builtin exit 1
fi

# BASHPID is the process of the substitution there, whose parent is this shell.
\builtin eval "$(
    {
        _atbprobe_self=$(\builtin command readlink -f -- "${BASH_SOURCE[0]}") &&
            "$BASH" -p "${_atbprobe_self%/*}/probe_environment.sh" load "$BASHPID" "$PWD" \
                "${LD_PRELOAD-}" "${ATB_OUTPUT_DIR-}" "${ATB_DUMP_CONFIG-}" "${ATBPROBE_PYTHON-}" \
                "${ASCEND_HOME_PATH-}" "${ATB_HOME_PATH-}" "$@"
    } || \builtin echo '\builtin return 1'
)"
