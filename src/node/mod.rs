//! The ROS 2 node: converts, calls the core, and converts back.

mod codes;
mod convert;
mod declared;
mod frames;
mod joint_states;
mod model_source;
mod obstacles;
mod parameters;
#[cfg(test)]
mod test_data;
mod tf_buffer;
