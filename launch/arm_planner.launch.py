"""Start arm_planner for one arm.

The arm is described by the argument urdf_file, by the argument robot_description (URDF text), or, when both are
empty, by the topic robot_description. Arguments that are left empty keep the value of the parameter file.
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# Launch argument and parameter share a name; these are passed on only when they are given.
TEXT_PARAMETERS = ("urdf_file", "robot_description", "base_link", "tip_link")
FLAG_PARAMETERS = ("mock_controller", "mock_publish_tf")


def flag(name, text):
    """Value of a true/false argument; anything else is an error that names it."""
    words = {"true": True, "1": True, "false": False, "0": False}
    try:
        return words[text.strip().lower()]
    except KeyError:
        raise RuntimeError(f"launch argument {name}: '{text}' is neither true nor false") from None


def start_node(context):
    """Build the node once the arguments are known, so that those left empty can be left out."""

    def value(name):
        return LaunchConfiguration(name).perform(context)

    # A text must not be read as YAML: a link may be called "1", and URDF is full of colons.
    parameters = {name: ParameterValue(value(name), value_type=str) for name in TEXT_PARAMETERS if value(name)}
    parameters.update({name: flag(name, value(name)) for name in FLAG_PARAMETERS if value(name)})
    parameters["use_sim_time"] = flag("use_sim_time", value("use_sim_time"))
    return [
        Node(
            package="arm_planner",
            executable="arm_planner_node",
            name="arm_planner",
            namespace=value("namespace"),
            output="screen",
            parameters=[value("params_file"), parameters],
            arguments=["--ros-args", "--log-level", value("log_level")],
        )
    ]


def generate_launch_description():
    default_parameters = os.path.join(get_package_share_directory("arm_planner"), "config", "arm_planner.yaml")
    return LaunchDescription(
        [
            DeclareLaunchArgument("urdf_file", default_value="", description="Path to the arm's URDF file, or package://PACKAGE/path."),
            DeclareLaunchArgument("robot_description", default_value="", description="URDF text, instead of urdf_file."),
            DeclareLaunchArgument("base_link", default_value="", description="First link of the arm; empty: found when there is one choice."),
            DeclareLaunchArgument("tip_link", default_value="", description="Last link of the arm; empty: found when there is one choice."),
            DeclareLaunchArgument("params_file", default_value=default_parameters, description="Parameter file of the node."),
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node, for several arms."),
            DeclareLaunchArgument("use_sim_time", default_value="false", description="Take the time from /clock."),
            DeclareLaunchArgument("mock_controller", default_value="", description="Run without an arm: true or false; empty: as in the parameter file."),
            DeclareLaunchArgument("mock_publish_tf", default_value="", description="Let the mock controller publish TF: true or false; empty: as in the parameter file."),
            DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal."),
            OpaqueFunction(function=start_node),
        ]
    )
