//! Any bytes as obstacles and boundary: the rotational sweep against the naive visibility graph.
#![no_main]

#[path = "../src/planar.rs"]
#[allow(dead_code)]
mod planar;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    planar::sweep_against_naive(bytes);
});
