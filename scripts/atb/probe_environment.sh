# shellcheck shell=bash
# What load_atb_probe.sh and unload_atb_probe.sh do, run by them in a bash of its own:
#
#     probe_environment.sh load|unload PID PWD LD_PRELOAD ATB_OUTPUT_DIR ATB_DUMP_CONFIG ATBPROBE_PYTHON \
#         [ASCEND_HOME_PATH ATB_HOME_PATH WORD...]
#
# PID is a child of the sourcing shell; the capitals are variables of that shell, empty if unset (they need not be
# exported there, and may be read-only). Standard output is code for that shell to evaluate, printed last and at once;
# what is for the person goes to standard error. Exit code 1: refused, nothing is to change.
set -eu +o posix

action=$1 child_of_shell=$2 working_directory=$3 preload=$4 output=$5 config=$6 chosen_python=$7
shift 7

version=@PROJECT_VERSION@
here=${0%/*}
libraries=${here%/*/*}/lib
python=

say() {
    printf 'atbprobe: %s\n' "$*" >&2
}

refuse() {
    say "$*; nothing was changed"
    exit 1
}

# ---- The watcher: the two calls into the Python package -------------------------------------------------------------

# Returns after the first publish or rejection, or when there is no file yet.
start_watcher() {
    "$python" -m atbprobe_rules watch --config "$1" --hold "$sourcing_shell" --detach </dev/null >&2 ||
        say "no watcher is running for $1: what it says is not followed"
}

# Drops the hold of the sourcing shell, and says whether the watcher stays.
release_watcher() {
    "$python" -m atbprobe_rules watch --config "$1" --release "$sourcing_shell" </dev/null >&2 || :
}

# ---- The Python that has the package --------------------------------------------------------------------------------

has_package() {
    [[ -n $1 ]] && "$1" -c '
import importlib.metadata, sys
import atbprobe_rules
sys.exit(importlib.metadata.version("atbprobe-rules") != sys.argv[1])' "$version" </dev/null >/dev/null 2>&1
}

# Sets python, or says why not and fails.
find_python() {
    local packages=${here%/*/*/*} name prefix candidate
    local library_folder=${packages%/*} # <prefix>/lib/python3.11; /usr/lib/python3 for a package of Debian's own
    name=${library_folder##*/}
    prefix=${library_folder%/*/*}

    if [[ -n $chosen_python ]]; then
        [[ $chosen_python != */* || $chosen_python == /* ]] || chosen_python=$working_directory/$chosen_python
        if has_package "$chosen_python"; then
            python=$chosen_python
            return
        fi
        say "ATBPROBE_PYTHON ($chosen_python) has no atbprobe-rules $version: the rules stay as they are"
        return 1
    fi
    for candidate in "$prefix/bin/$name" "$prefix/bin/python3" "$prefix/bin/python" \
        "$(type -P -- "$name" || :)" "$(type -P python3 || :)"; do
        if has_package "$candidate"; then
            python=$candidate
            return
        fi
    done
    say "no Python with atbprobe-rules $version was found: the rules stay as they are." \
        "ATBPROBE_PYTHON can name one"
    return 1
}

# ---- LD_PRELOAD: entries parted by blanks or colons -----------------------------------------------------------------

# From preload: ours, the first entry of this installation; others, everything else, byte for byte (an entry of ours
# takes along the separator behind it, the very last one that before it); rival, a probe of another installation that
# comes before ours and so takes its calls.
split_preload() {
    local rest=$preload entry separator
    ours='' others='' rival=''
    while [[ -n $rest ]]; do
        entry=${rest%%[ :]*}
        separator=${rest:${#entry}:1}
        rest=${rest:${#entry}+${#separator}}
        case $entry in
            "$libraries"/libatb_probe_abi[01].so)
                ours=${ours:-$entry}
                [[ -n $separator ]] || others=${others%[ :]}
                continue
                ;;
            */libatb_probe_abi[01].so) [[ -n $ours ]] || rival=$entry ;;
        esac
        others+=$entry$separator
    done
}

# Tries LIBRARY on a program that does nothing; the loader only warns of a library that it cannot open.
try_library() {
    local answer
    [[ $1 != *[[:space:]:]* ]] || refuse "LD_PRELOAD cannot hold a path with blanks or colons: $1"
    [[ -e $1 ]] || refuse "there is no $1"
    if ! answer=$(LD_PRELOAD=$1 "$(type -P true)" 2>&1) || [[ -n $answer ]]; then
        refuse "$1 cannot be loaded on this machine (${answer:-the program that tried it failed})"
    fi
}

# ---- Options and paths ----------------------------------------------------------------------------------------------

# within_two_edits WORD OTHER: insertions, deletions and replacements of one character; one row of the usual table.
within_two_edits() {
    local word=$1 other=$2 i j diagonal above
    local -a row
    for ((j = 0; j <= ${#other}; j++)); do row[j]=$j; done
    for ((i = 1; i <= ${#word}; i++)); do
        diagonal=${row[0]}
        row[0]=$i
        for ((j = 1; j <= ${#other}; j++)); do
            above=${row[j]}
            [[ ${word:i-1:1} == "${other:j-1:1}" ]] || diagonal=$((diagonal + 1))
            row[j]=$((above < row[j - 1] ? above + 1 : row[j - 1] + 1))
            row[j]=$((row[j] < diagonal ? row[j] : diagonal))
            diagonal=$above
        done
    done
    ((row[${#other}] <= 2))
}

# Sets given_output and given_config. `source` without arguments shows us those of the caller's own script, so a word
# that does not look like an option of ours is somebody else's.
read_options() {
    local word name known
    given_output='' given_config=''
    for word in "$@"; do
        name=${word%%=*}
        case $word in
            --output=?*) given_output=${word#*=} ;;
            --config=?*) given_config=${word#*=} ;;
            --*)
                ((${#name} <= 10)) || continue # two more than the longest option
                for known in --output --config; do
                    ! within_two_edits "$name" "$known" ||
                        refuse "$word is not understood; the options are --output=DIR and --config=FILE"
                done
                ;;
        esac
    done
}

# Sets REPLY to VALUE with a leading ~ or ~user expanded (the shell does not, after a "="), made absolute.
# ".." stays: what stands before it may be a link.
make_absolute() {
    local home
    REPLY=$1
    if [[ $1 =~ ^(~[A-Za-z0-9_.-]*)(/.*)?$ ]]; then
        eval "home=${BASH_REMATCH[1]}"
        [[ $home == "~"* ]] || REPLY=$home${BASH_REMATCH[2]}
    fi
    [[ $REPLY == /* ]] || REPLY=$working_directory/$REPLY
    REPLY=$REPLY/
    while [[ $REPLY == *//* ]]; do REPLY=${REPLY//\/\//\/}; done
    while [[ $REPLY == */./* ]]; do REPLY=${REPLY//\/.\//\/}; done
    [[ $REPLY == / ]] || REPLY=${REPLY%/}
}

# ---- The two actions ------------------------------------------------------------------------------------------------

load() {
    local ascend_home=$1 home=$2 library rules_before=''
    shift 2
    read_options "$@"

    if [[ -z $ascend_home ]]; then
        say "warning: ASCEND_HOME_PATH is not set, so no ATB model can run here; nothing was changed"
        return
    fi
    while [[ $home == */ ]]; do home=${home%/}; done
    case ${home##*/} in
        cxx_abi_[01]) library=$libraries/libatb_probe_abi${home: -1}.so ;;
        *)
            say "warning: ATB_HOME_PATH (${home:-not set}) does not end in cxx_abi_0 or cxx_abi_1; nothing was changed"
            return
            ;;
    esac
    try_library "$library"

    # Loaded already: what was chosen then stands unless it is chosen anew.
    split_preload
    if [[ -n $ours ]]; then
        rules_before=$config
    else
        output='' config=''
    fi
    make_absolute "${given_output:-${output:-$working_directory}}"
    output=$REPLY
    make_absolute "${given_config:-${config:-$here/config.json}}"
    config=$REPLY
    [[ ! -e $output || -d $output ]] || refuse "--output: $output is not a folder"
    [[ ! -d $config ]] || refuse "--config: $config is a folder"
    [[ $ours == "$library" ]] || preload=$library${others:+:$others}

    if find_python; then
        [[ -z $rules_before || $rules_before == "$config" ]] || release_watcher "$rules_before"
        start_watcher "$config"
    fi

    say "loaded  $library"
    [[ -z $rival || $ours != "$library" ]] || say "warning: $rival stands before it in LD_PRELOAD and takes its calls"
    say "rules   $config"
    say "output  $output/atb_dump_data"
    if [[ ! -e $config ]]; then
        say "next    cp $(printf '%q %q' "$here/config_example.json" "$config")"
    elif [[ -n $python && -n ${_atbprobe_runs_command-} ]]; then
        say "next    while the command runs, type in another shell: $(status_command)"
    elif [[ -n $python ]]; then
        say "next    start the model from this shell, then type: $(status_command)"
    fi
    printf '\\builtin export LD_PRELOAD=%q ATB_OUTPUT_DIR=%q ATB_DUMP_CONFIG=%q\n' "$preload" "$output" "$config"
}

status_command() {
    if [[ -n $(type -P atbprobe-rules) ]]; then
        echo "atbprobe-rules status"
    else
        printf '%q -m atbprobe_rules status\n' "$python"
    fi
}

unload() {
    split_preload
    if [[ -z $ours ]]; then
        say "the probe is not loaded in this shell; nothing was changed"
        return
    fi
    if [[ -n $config ]] && find_python; then
        release_watcher "$config"
    fi
    say "unloaded; programs that run already keep the probe"
    if [[ -n $others ]]; then
        printf '\\builtin export LD_PRELOAD=%q\n' "$others"
    else
        printf '\\builtin unset -v LD_PRELOAD\n'
    fi
    printf '\\builtin unset -v ATB_OUTPUT_DIR ATB_DUMP_CONFIG\n'
}

while read -r key value; do
    [[ $key != PPid: ]] || sourcing_shell=$value
done <"/proc/$child_of_shell/status"

# No program started here is to be probed, and no module in the working directory is to come before those of Python.
export LD_PRELOAD=
cd /
"$action" "$@"
