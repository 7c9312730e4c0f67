# shellcheck shell=bash
# Takes back what load_atb_probe.sh set in this shell, and no more. Programs that run already keep the probe.
#
#     source unload_atb_probe.sh
#
# How, and why so little happens here, is said in load_atb_probe.sh. All arguments are ignored.

if [ -z "${BASH_VERSION-}" ]; then
    echo "atbprobe: unload_atb_probe.sh is for bash; nothing was changed" >&2
    return 1
fi
if ! (\builtin return 0 2>/dev/null); then
    \builtin echo "atbprobe: running unload_atb_probe.sh changes nothing; type: source $0" >&2
    \builtin exit 1
fi

\builtin eval "$(
    {
        _atbprobe_self=$(\builtin command readlink -f -- "${BASH_SOURCE[0]}") &&
            "$BASH" -p "${_atbprobe_self%/*}/probe_environment.sh" unload "$BASHPID" "$PWD" \
                "${LD_PRELOAD-}" "${ATB_OUTPUT_DIR-}" "${ATB_DUMP_CONFIG-}" "${ATBPROBE_PYTHON-}"
    } || \builtin echo '\builtin return 1'
)"
