//! The planar rooms from outside: polygons, inflation, worlds, road maps.

mod cases;
mod commands;
mod common;
mod faults;
mod inflation;
mod oracle;
mod polygons;
mod routes;
mod scenes;
mod updates;
