//! The bodies of the fuzz targets, run over random input wherever the tests run.

#[path = "../fuzz/src/lib.rs"]
mod bodies;
mod ik_support;

use std::cell::Cell;

use arm_planner::model::{Chain, RobotModel};
use ik_support::{eight_joints, planar, random_chain, six_joints, Random};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

const TORSO: &str = include_str!("../urdf/two_arm_torso.urdf");

/// `ARM_PLANNER_FUZZ_FACTOR` multiplies the cases for a longer run.
fn runner(cases: u32) -> TestRunner {
    let factor = std::env::var("ARM_PLANNER_FUZZ_FACTOR");
    let factor = factor.map_or(1, |text| text.parse().unwrap());
    let config = ProptestConfig {
        cases: cases * factor,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    TestRunner::new_with_rng(config, rng)
}

fn arms() -> Vec<Chain> {
    let mut random = Random(301);
    let mut arms = vec![
        planar(&[0.4, 0.3, 0.2], -2.5, 2.5),
        six_joints(),
        eight_joints(),
    ];
    arms.extend((1..=5).map(|dof| random_chain(&mut random, dof, dof % 2 == 0)));
    arms
}

#[test]
fn requests_of_any_bytes_have_named_answers() {
    let arms = arms();
    let bytes = proptest::collection::vec(any::<u8>(), 0..160);
    let which = 0..arms.len();
    let understood = Cell::new(0);
    runner(600)
        .run(&(bytes, which), |(bytes, which)| {
            let made_sense = bodies::requests(&arms[which], &bytes);
            understood.set(understood.get() + u32::from(made_sense));
            Ok(())
        })
        .unwrap();
    // Nonsense alone would test the checks at the door and nothing behind them.
    assert!(understood.get() > 150, "{}", understood.get());
}

#[test]
fn tree_requests_of_any_bytes_have_named_answers() {
    let model = RobotModel::from_urdf(TORSO).unwrap();
    let bytes = proptest::collection::vec(any::<u8>(), 0..160);
    let understood = Cell::new(0);
    runner(300)
        .run(&bytes, |bytes| {
            let made_sense = bodies::tree_requests(&model, &["left_hand", "right_hand"], &bytes);
            understood.set(understood.get() + u32::from(made_sense));
            Ok(())
        })
        .unwrap();
    assert!(understood.get() > 60, "{}", understood.get());
}

/// Values that attributes may be given.
const VALUES: [&str; 20] = [
    "",
    "0",
    "-0",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "1 0 0",
    "0 0 0",
    "1 2",
    "1e200 1e200 1e200",
    "0.1 0.2 0.3 0.4",
    "fixed",
    "prismatic",
    "floating",
    "l1",
    "${x}",
    "3.2.1",
];

/// Descriptions near the valid ones: an attribute's value, a tag or some bytes exchanged.
fn mutated(text: &str, edits: &[(u8, u16, u16)]) -> String {
    let mut text = text.to_owned();
    for &(kind, place, choice) in edits {
        match kind % 4 {
            0 | 1 => {
                // Quoted values come at odd places between quotes.
                let mut parts: Vec<String> = text.split('"').map(str::to_owned).collect();
                let values = parts.len() / 2;
                if values > 0 {
                    let at = 2 * (usize::from(place) % values) + 1;
                    let other = usize::from(choice);
                    parts[at] = if kind % 4 == 0 {
                        VALUES[other % VALUES.len()].to_owned()
                    } else {
                        parts[2 * (other % values) + 1].clone()
                    };
                }
                text = parts.join("\"");
            }
            2 => {
                let mut lines: Vec<&str> = text.lines().collect();
                if !lines.is_empty() {
                    let at = usize::from(place) % lines.len();
                    if choice % 2 == 0 {
                        lines.remove(at);
                    } else {
                        lines.insert(at, lines[usize::from(choice) % lines.len()]);
                    }
                }
                text = lines.join("\n");
            }
            _ => {
                let mut letters: Vec<char> = text.chars().collect();
                if !letters.is_empty() {
                    let at = usize::from(place) % letters.len();
                    letters[at] = char::from((choice % 128) as u8);
                }
                text = letters.into_iter().collect();
            }
        }
    }
    text
}

#[test]
fn descriptions_of_any_text_have_named_errors() {
    let seeds = [
        include_str!("../urdf/planar_3r.urdf"),
        include_str!("../urdf/six_axis.urdf"),
        TORSO,
        "<robot name=\"r\"><link name=\"a\"/><link name=\"b\"/><joint name=\"j\" type=\"prismatic\">\
         <parent link=\"a\"/><child link=\"b\"/><axis xyz=\"0 0 1\"/><limit lower=\"0\" upper=\"1\" \
         velocity=\"1\" effort=\"1\"/><mimic joint=\"j\" multiplier=\"2\" offset=\"1\"/></joint></robot>",
    ];
    let edits = proptest::collection::vec(any::<(u8, u16, u16)>(), 0..6);
    runner(1500)
        .run(&(edits, 0..seeds.len()), |(edits, which)| {
            bodies::urdf(&mutated(seeds[which], &edits));
            Ok(())
        })
        .unwrap();
    runner(300)
        .run(&"\\PC{0,200}", |text| {
            bodies::urdf(&text);
            Ok(())
        })
        .unwrap();
}
