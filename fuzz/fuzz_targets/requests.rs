//! Any bytes as requests to every solver, on the described arms and on the two-armed torso.
#![no_main]

use std::sync::OnceLock;

use arm_planner::model::{Chain, RobotModel};

static ARMS: OnceLock<(Vec<Chain>, RobotModel)> = OnceLock::new();

fn arms() -> (Vec<Chain>, RobotModel) {
    let chain = |text: &str| {
        let model = RobotModel::from_urdf(text).expect("a description of our own");
        model.chain("", "", false).expect("it has one tip")
    };
    let chains = vec![
        chain(include_str!("../../urdf/planar_3r.urdf")),
        chain(include_str!("../../urdf/six_axis.urdf")),
        chain(include_str!("../../urdf/seven_axis.urdf")),
    ];
    let torso = RobotModel::from_urdf(include_str!("../../urdf/two_arm_torso.urdf"));
    (chains, torso.expect("a description of our own"))
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (chains, torso) = ARMS.get_or_init(arms);
    for chain in chains {
        let _ = arm_planner_fuzz::requests(chain, bytes);
    }
    let _ = arm_planner_fuzz::tree_requests(torso, &["left_hand", "right_hand"], bytes);
});
