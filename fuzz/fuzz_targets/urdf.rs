//! Any text as a robot description.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| arm_planner_fuzz::urdf(text));
