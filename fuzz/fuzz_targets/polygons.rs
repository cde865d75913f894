//! Any bytes as obstacles, boundary and questions, for all road maps.
#![no_main]

#[path = "../src/planar.rs"]
#[allow(dead_code)]
mod planar;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    planar::polygons(bytes);
});
