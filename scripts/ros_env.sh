# shellcheck shell=bash
# To be sourced by bash: sets up the ROS 2 environment of this repository.
#
#     source scripts/ros_env.sh
#
# A ROS environment that is already sourced is kept and the overlay .ros/overlay put on top of it; otherwise the
# prefix .ros/prefix is used. `make ros` builds what is missing. Sourcing twice changes nothing.

_ap_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

# Puts $2 first in the colon-separated variable $1, unless it is in there.
_ap_prepend() {
    case ":${!1:-}:" in
        *":$2:"*) ;;
        *) export "$1=$2${!1:+:${!1}}" ;;
    esac
}

# Message packages for which the Rust client library generates code.
_ap_packages="std_msgs;geometry_msgs;sensor_msgs;trajectory_msgs;nav_msgs;visualization_msgs;std_srvs;diagnostic_msgs"
_ap_packages+=";rosgraph_msgs;rcl_interfaces;builtin_interfaces;action_msgs;unique_identifier_msgs;tf2_msgs"
_ap_packages+=";control_msgs;arm_planner_msgs"

if [ -n "${AMENT_PREFIX_PATH:-}" ] && [ "${ARM_PLANNER_ROS:-}" != "$_ap_root/.ros/prefix" ]; then
    export ARM_PLANNER_ROS="sourced"
    if [ -f "$_ap_root/.ros/overlay/python_path" ]; then
        _ap_prepend AMENT_PREFIX_PATH "$_ap_root/.ros/overlay"
        _ap_prepend CMAKE_PREFIX_PATH "$_ap_root/.ros/overlay"
        _ap_prepend LD_LIBRARY_PATH "$_ap_root/.ros/overlay/lib"
        while read -r _ap_dir; do
            _ap_prepend PYTHONPATH "$_ap_root/.ros/overlay/$_ap_dir"
        done <"$_ap_root/.ros/overlay/python_path"
    fi
    # Python of the tests and the demo: sees the packages of the sourced ROS and what they lack.
    export ARM_PLANNER_PYTHON="$_ap_root/.ros/python/bin/python3"
    for _ap_dir in "$_ap_root"/.ros/python/lib/python3.*/site-packages/clang/native; do
        if [ -d "$_ap_dir" ] && [ -z "${LIBCLANG_PATH:-}" ]; then
            export LIBCLANG_PATH="$_ap_dir"
            BINDGEN_EXTRA_CLANG_ARGS="-I$(${CC:-cc} -print-file-name=include)"
            export BINDGEN_EXTRA_CLANG_ARGS
        fi
    done
else
    _ap_prefix="$_ap_root/.ros/prefix"
    export ARM_PLANNER_ROS="$_ap_prefix"
    export ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
    export RMW_IMPLEMENTATION=rmw_fastrtps_cpp
    _ap_prepend AMENT_PREFIX_PATH "$_ap_prefix"
    _ap_prepend CMAKE_PREFIX_PATH "$_ap_prefix"
    _ap_prepend PATH "$_ap_prefix/bin"
    for _ap_dir in "$_ap_prefix"/lib/python3.*/site-packages/ros_*.libs "$_ap_prefix/lib"; do
        [ -d "$_ap_dir" ] && _ap_prepend LD_LIBRARY_PATH "$_ap_dir"
    done
    for _ap_dir in "$_ap_prefix"/lib/python3.*/site-packages/clang/native; do
        [ -d "$_ap_dir" ] && export LIBCLANG_PATH="$_ap_dir"
    done
    # The libclang wheel comes without the headers that belong to a compiler.
    _ap_dir="$(${CC:-cc} -print-file-name=include 2>/dev/null || true)"
    [ -d "$_ap_dir" ] && export BINDGEN_EXTRA_CLANG_ARGS="-I$_ap_dir"
    export ARM_PLANNER_PYTHON="$_ap_prefix/bin/python3"
fi
# The last word names no package: it changes with the messages, and so has the code for them generated anew.
if [ -f "$_ap_root/.ros/interfaces" ]; then
    _ap_packages+=";interfaces-$(cat "$_ap_root/.ros/interfaces")"
fi
export IDL_PACKAGE_FILTER="$_ap_packages"
unset _ap_root _ap_prefix _ap_packages _ap_dir
unset -f _ap_prepend
