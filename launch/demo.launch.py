"""Show arm_planner without an arm: the six-axis arm on a mock controller, robot_state_publisher and RViz."""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    share = get_package_share_directory("arm_planner")
    urdf_file = LaunchConfiguration("urdf_file")
    return LaunchDescription(
        [
            DeclareLaunchArgument("urdf_file", default_value=os.path.join(share, "urdf", "six_axis.urdf"), description="Path to the arm's URDF file."),
            DeclareLaunchArgument("rviz", default_value="true", description="Start RViz: true or false."),
            DeclareLaunchArgument("rviz_config", default_value=os.path.join(share, "config", "arm_planner.rviz"), description="RViz configuration."),
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                output="screen",
                # The text must not be read as YAML.
                parameters=[{"robot_description": ParameterValue(Command(["cat '", urdf_file, "'"]), value_type=str)}],
            ),
            # robot_state_publisher turns the mock controller's joint states into TF, so the controller need not.
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(os.path.join(share, "launch", "arm_planner.launch.py")),
                launch_arguments={
                    "urdf_file": urdf_file,
                    "mock_controller": "true",
                    "mock_publish_tf": "false",
                }.items(),
            ),
            Node(
                package="rviz2",
                executable="rviz2",
                arguments=["-d", LaunchConfiguration("rviz_config")],
                condition=IfCondition(LaunchConfiguration("rviz")),
                output="log",
            ),
        ]
    )
