//! The planar rooms from outside: polygons, inflation, worlds, road maps.

/// The bodies of the planar fuzz targets, and the invariants that all tests here check.
#[path = "../../fuzz/src/planar.rs"]
mod bodies;
mod cases;
mod commands;
mod common;
mod degenerate;
mod faults;
mod fuzz;
mod inflation;
mod oracle;
mod polygons;
mod routes;
mod scenes;
#[path = "../planar_support/mod.rs"]
mod support;
