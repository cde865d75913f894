//! The bodies of the planar fuzz targets, run over random input wherever the tests run.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::bodies;
use crate::common::config;

fn run(cases: u32, least: u32, body: impl Fn(&[u8]) -> bool) {
    let bytes = prop::collection::vec(any::<u8>(), 0..140);
    let understood = Cell::new(0);
    TestRunner::new(config(cases))
        .run(&bytes, |bytes| {
            understood.set(understood.get() + u32::from(body(&bytes)));
            Ok(())
        })
        .unwrap();
    // Nonsense alone would test the checks at the door and nothing behind them.
    assert!(understood.get() > least, "{}", understood.get());
}

#[test]
fn polygons_of_any_bytes_have_ways_or_named_errors() {
    run(600, 150, bodies::polygons);
}

#[test]
fn sweep_and_naive_agree_on_any_bytes() {
    run(600, 200, bodies::sweep_against_naive);
}
