//! Looks at the sourced ROS environment: which optional interface packages there are.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_tf2_msgs, has_rosgraph_msgs, has_control_msgs)");
    if env::var_os("CARGO_FEATURE_ROS").is_none() {
        return;
    }
    for name in [
        "AMENT_PREFIX_PATH",
        "IDL_PACKAGE_FILTER",
        "CMAKE_IDL_PACKAGES",
    ] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if !is_available("arm_planner_msgs") {
        println!(
            "cargo::error=the interface package arm_planner_msgs was not found in AMENT_PREFIX_PATH \
             (or IDL_PACKAGE_FILTER leaves it out): run `make ros` and `source scripts/ros_env.sh`, \
             or build it with colcon and source its workspace"
        );
    }
    // Without it, trajectories go to the controller by topic alone.
    if is_available("control_msgs") {
        println!("cargo::rustc-cfg=has_control_msgs");
    }
    // TF is a convenience: without its messages the node builds and treats frames other than
    // the robot's links as unknown.
    if is_available("rosgraph_msgs") {
        println!("cargo::rustc-cfg=has_rosgraph_msgs");
    }
    if is_available("tf2_msgs") {
        println!("cargo::rustc-cfg=has_tf2_msgs");
    }
}

/// Whether the package is installed and r2r generates code for it.
fn is_available(package: &str) -> bool {
    let filtered_out = env::var("IDL_PACKAGE_FILTER")
        .is_ok_and(|list| list.split(';').all(|name| name != package));
    if filtered_out {
        return false;
    }
    // Set by r2r's CMake macros to the packages' CMake folders (share/PACKAGE/cmake); goes first, as in r2r.
    if let Ok(list) = env::var("CMAKE_IDL_PACKAGES") {
        return list.split(':').any(|folder| {
            let name = Path::new(folder).parent().and_then(Path::file_name);
            name.is_some_and(|name| name == package)
        });
    }
    ["AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"]
        .iter()
        .any(|name| {
            env::var(name).is_ok_and(|list| {
                list.split(':').any(|prefix| {
                    Path::new(prefix)
                        .join("share/ament_index/resource_index/rosidl_interfaces")
                        .join(package)
                        .exists()
                })
            })
        })
}
