//! Inverse kinematics and obstacle-avoiding motion for any robot arm.
