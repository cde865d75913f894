//! Robot descriptions as they come from the field, each after a public report, with what must
//! come of them. The inputs and the expectations lie in `tests/data/faults`.

use std::collections::BTreeMap;

use arm_planner::kinematics::forward_kinematics;
use arm_planner::model::{
    forward_kinematics_by_k, JointKind, ModelError, ModelWarning, RobotModel,
};
use serde_json::Value;

struct Case {
    urdf: String,
    json: Value,
}

fn case(name: &str) -> Case {
    let folder = format!("{}/tests/data/faults", env!("CARGO_MANIFEST_DIR"));
    let read = |suffix: &str| std::fs::read_to_string(format!("{folder}/{name}{suffix}")).unwrap();
    Case {
        urdf: read(".urdf"),
        json: serde_json::from_str(&read(".json")).unwrap(),
    }
}

impl Case {
    fn expected(&self) -> &Value {
        &self.json["expected"]
    }

    /// Loads, and checks counts, chain order, poses (by us and by the crate `k`) and named warnings.
    fn loads(&self) -> RobotModel {
        let model = RobotModel::from_urdf(&self.urdf).unwrap_or_else(|error| panic!("{error}"));
        let expected = self.expected();
        if let Some(links) = expected["links"].as_u64() {
            assert_eq!(model.links.len() as u64, links, "links");
        }
        if let Some(joints) = expected["joints"].as_u64() {
            assert_eq!(model.joints.len() as u64, joints, "joints");
        }
        let tolerance = expected["tolerance"].as_f64().unwrap_or(1e-9);
        for pose in expected["fk"].as_array().into_iter().flatten() {
            let base = pose["base"].as_str().unwrap_or("");
            let tip = pose["tip"].as_str().unwrap();
            let xyz = numbers(&pose["xyz"]);
            let quaternion = numbers(&pose["quat_xyzw"]);
            let values: BTreeMap<String, f64> = pose["q"]
                .as_object()
                .map(|q| {
                    q.iter()
                        .map(|(name, value)| (name.clone(), value.as_f64().unwrap()))
                        .collect()
                })
                .unwrap_or_default();
            let all = pose["q_all"].as_f64();
            let base_name = if base.is_empty() {
                model.links[model.root].name.clone()
            } else {
                base.to_owned()
            };
            let named: Vec<(&str, f64)> = match all {
                Some(value) => model
                    .joints
                    .iter()
                    .filter(|joint| joint.kind == JointKind::Revolute)
                    .map(|joint| (joint.name.as_str(), value))
                    .collect(),
                None => values
                    .iter()
                    .map(|(name, value)| (name.as_str(), *value))
                    .collect(),
            };
            // A tip that no joint moves makes no chain; the tree still knows its pose.
            let ours = model.chain(base, tip, false).ok().map(|chain| {
                let q: Vec<f64> = chain
                    .dofs
                    .iter()
                    .map(|dof| all.unwrap_or_else(|| *values.get(&dof.name).unwrap()))
                    .collect();
                forward_kinematics(&chain, &q).unwrap()
            });
            let independent = forward_kinematics_by_k(&model, &base_name, tip, &named).unwrap();
            for tip_pose in ours.into_iter().chain([independent]) {
                let offset =
                    tip_pose.translation.vector - nalgebra::Vector3::new(xyz[0], xyz[1], xyz[2]);
                assert!(
                    offset.norm() < tolerance,
                    "{tip}: position off by {}",
                    offset.norm()
                );
                let c = tip_pose.rotation.coords;
                let dot: f64 = (0..4).map(|at| c[at] * quaternion[at]).sum();
                assert!(
                    (1.0 - dot.abs()) < tolerance,
                    "{tip}: orientation off, dot {dot}"
                );
            }
        }
        for warned in expected["warn"].as_array().into_iter().flatten() {
            let name = warned.as_str().unwrap();
            let told = model
                .warnings
                .iter()
                .any(|warning| warning.to_string().contains(name));
            assert!(told, "no warning names {name}: {:?}", model.warnings);
        }
        model
    }

    /// Is refused with a message that names what it must.
    fn fails(&self) -> ModelError {
        self.fails_with(&self.urdf)
    }

    fn fails_with(&self, urdf: &str) -> ModelError {
        let error = RobotModel::from_urdf(urdf).expect_err("must be refused");
        let message = error.to_string();
        for word in self.expected()["must_mention"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert!(
                message.contains(word.as_str().unwrap()),
                "{message:?} does not name {word}"
            );
        }
        error
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

fn names(value: &Value) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn fk_joint_file_order() {
    let case = case("fk_joint_file_order");
    let model = case.loads();
    let chain = model.chain("", "tip", false).unwrap();
    assert_eq!(chain.joint_names(), names(&case.expected()["active"]));
}

#[test]
fn urdf_axis_nonunit() {
    let case = case("urdf_axis_nonunit");
    let model = case.loads();
    for (joint, axis) in case.expected()["axis"].as_object().unwrap() {
        let found = model.joints[model.joint_index(joint).unwrap()].axis;
        for (found, expected) in found.iter().zip(numbers(axis)) {
            assert!((found - expected).abs() < 1e-12, "{joint}");
        }
    }
}

#[test]
fn urdf_bad_vector() {
    let case = case("urdf_bad_vector");
    let original = case.json["input"]["replace_in_urdf"].as_str().unwrap();
    for variant in names(&case.json["input"]["variants"]) {
        let urdf = case.urdf.replace(original, &variant);
        assert!(urdf.contains(&variant));
        let error = case.fails_with(&urdf);
        assert!(
            matches!(error, ModelError::InvalidVector { .. }),
            "{variant}: {error:?}"
        );
    }
}

#[test]
fn urdf_comma_decimal() {
    let error = case("urdf_comma_decimal").fails();
    assert!(error.to_string().contains("decimal point"), "{error}");
}

#[test]
fn urdf_extra_tags() {
    let case = case("urdf_extra_tags");
    let model = case.loads();
    for (joint, range) in case.expected()["limits"].as_object().unwrap() {
        let limits = model.joints[model.joint_index(joint).unwrap()].limits;
        assert_eq!(vec![limits.lower, limits.upper], numbers(range));
    }
    for phantom in ["phantom_t", "phantom_c", "commented"] {
        assert!(model.joint_index(phantom).is_none());
    }
    assert!(model.link_index("phantom_link").is_none());
}

#[test]
fn urdf_floating_planar() {
    let case = case("urdf_floating_planar");
    let model = case.loads();
    let kind = |name: &str| model.joints[model.joint_index(name).unwrap()].kind;
    assert_eq!(kind("drift"), JointKind::Floating);
    assert_eq!(kind("glide"), JointKind::Planar);
    let error = model.chain("yard", "crow", false).unwrap_err().to_string();
    assert!(
        error.contains("drift") || error.contains("glide"),
        "{error}"
    );
    assert_eq!(
        model.chain("cart", "crow", false).unwrap().joint_names(),
        ["mast_turn"]
    );
}

#[test]
fn urdf_limit_no_velocity_effort() {
    let case = case("urdf_limit_no_velocity_effort");
    let model = case.loads();
    for (joint, velocity) in case.expected()["velocity_limit"].as_object().unwrap() {
        let limits = model.joints[model.joint_index(joint).unwrap()].limits;
        assert_eq!(limits.velocity, velocity.as_f64(), "{joint}");
        assert_eq!((limits.lower, limits.upper), (-1.0, 1.0));
    }
}

#[test]
fn urdf_limits_reversed() {
    let error = case("urdf_limits_reversed").fails();
    assert!(matches!(error, ModelError::ReversedLimits { .. }));
}

#[test]
fn urdf_long_chain() {
    let case = case("urdf_long_chain");
    // A recursive walk would need more stack than this.
    let kib = case.expected()["thread_stack_kib"].as_u64().unwrap() as usize;
    let active = case.expected()["active_count"].as_u64().unwrap() as usize;
    let urdf = case.urdf.clone();
    let pose = case.expected()["fk"][0].clone();
    std::thread::Builder::new()
        .stack_size(kib * 1024)
        .spawn(move || {
            let model = RobotModel::from_urdf(&urdf).unwrap();
            assert_eq!((model.links.len(), model.joints.len()), (502, 501));
            let chain = model.chain("", "", false).unwrap();
            assert_eq!(chain.dof(), active);
            let tip = forward_kinematics(&chain, &vec![0.002; active]).unwrap();
            let offset =
                tip.translation.vector - nalgebra::Vector3::from_vec(numbers(&pose["xyz"]));
            assert!(offset.norm() < 1e-10, "{}", offset.norm());
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn urdf_mesh_material() {
    let case = case("urdf_mesh_material");
    let model = case.loads();
    let mut meshes = Vec::new();
    for link in &model.links {
        for shape in link.visual.iter().chain(&link.collision) {
            if let arm_planner::model::Geometry::Mesh { filename, .. } = &shape.geometry {
                meshes.push(filename.clone());
            }
        }
    }
    assert_eq!(meshes, names(&case.expected()["meshes"]));
}

#[test]
fn urdf_mimic_chain() {
    let case = case("urdf_mimic_chain");
    let model = case.loads();
    let third = model.joints[model.joint_index("third").unwrap()]
        .mimic
        .unwrap();
    assert_eq!(model.joints[third.driver].name, "lead");
    assert!((third.multiplier + 1.0).abs() < 1e-12 && (third.offset - 0.1).abs() < 1e-12);
    assert_eq!(
        model.chain("", "lens", false).unwrap().joint_names(),
        ["lead"]
    );
}

#[test]
fn urdf_mimic_cycle() {
    let error = case("urdf_mimic_cycle").fails();
    assert!(matches!(error, ModelError::MimicCycle { .. }));
}

#[test]
fn urdf_revolute_no_limit() {
    let error = case("urdf_revolute_no_limit").fails();
    assert!(matches!(error, ModelError::MissingLimit { .. }));
}

#[test]
fn urdf_rpy_gimbal() {
    case("urdf_rpy_gimbal").loads();
}

#[test]
fn urdf_self_loop() {
    let error = case("urdf_self_loop").fails();
    assert!(matches!(error, ModelError::Loop { .. }));
}

#[test]
fn urdf_soft_limits() {
    let case = case("urdf_soft_limits");
    let model = case.loads();
    let chain = |soft| model.chain("", "d", soft).unwrap();
    for (joint, range) in case.expected()["hard"].as_object().unwrap() {
        let dofs = chain(false).dofs;
        let dof = dofs.iter().find(|dof| dof.name == *joint).unwrap();
        assert_eq!(vec![dof.lower, dof.upper], numbers(range), "{joint}");
    }
    let dofs = chain(true).dofs;
    let ranges: Vec<_> = dofs.iter().map(|dof| (dof.lower, dof.upper)).collect();
    assert_eq!(ranges, [(-1.0, 1.3), (-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0)]);
    assert!(model
        .warnings
        .iter()
        .any(|warning| matches!(warning, ModelWarning::SoftLimits { joint, .. } if joint == "s4")));
}

#[test]
fn urdf_two_parents() {
    let error = case("urdf_two_parents").fails();
    assert!(matches!(error, ModelError::MultipleParents { .. }));
}

#[test]
fn urdf_two_roots() {
    let error = case("urdf_two_roots").fails();
    assert!(matches!(error, ModelError::MultipleRoots { .. }));
}

#[test]
fn urdf_unbound_prefix() {
    case("urdf_unbound_prefix").loads();
}

// The rest of each kind: what no report names, but the same carelessness would let through.

const ARM: &str = r#"<robot name="r"><link name="a"/><link name="b"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"#;

fn refused(urdf: &str) -> ModelError {
    RobotModel::from_urdf(urdf).expect_err("must be refused")
}

#[test]
fn the_plain_arm_loads_without_a_warning() {
    assert_eq!(RobotModel::from_urdf(ARM).unwrap().warnings, []);
}

#[test]
fn broken_xml_is_named_with_its_line() {
    for (urdf, line) in [
        (&ARM[..ARM.len() - 9], 1),
        (&ARM.replace("</joint>", "</jiont>"), 3),
        (
            &ARM.replace("<axis xyz=\"0 0 1\"/>", "<axis xyz=\"0 0 1/>"),
            2,
        ),
        (&ARM.replace("name=\"j\"", "name=\"j\" name=\"k\""), 2),
        (&ARM.replace("name=\"j\"", "name=\"&nbsp;\""), 2),
        (&format!("{ARM}<robot/>"), 3),
    ] {
        match refused(urdf) {
            ModelError::Xml { line: found, .. } => assert!(found >= line, "{found} in {urdf}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_is_no_robot_is_named() {
    assert_eq!(refused(""), ModelError::Empty);
    assert_eq!(refused(" \n "), ModelError::Empty);
    assert_eq!(
        refused("<sdf/>"),
        ModelError::NotARobot {
            found: "sdf".into()
        }
    );
    assert!(matches!(
        refused("<robot name=\"r\"/>"),
        ModelError::NoLinks { .. }
    ));
    assert!(matches!(refused("not xml at all"), ModelError::Xml { .. }));
}

#[test]
fn duplicate_names_are_named_with_both_lines() {
    let error = refused(&ARM.replace(
        "<link name=\"b\"/>",
        "<link name=\"b\"/>\n<link name=\"b\"/>",
    ));
    assert!(
        matches!(&error, ModelError::DuplicateName { what: "link", name, first: 1, second: 2 } if name == "b"),
        "{error:?}"
    );
}

#[test]
fn unexpanded_xacro_is_refused() {
    for urdf in [
        ARM.replace("0 0 1", "0 0 ${one}"),
        ARM.replace("0 0 1", "$(arg axis)"),
        ARM.replace(
            "<link name=\"a\"/>",
            "<link name=\"a\"/><xacro:include filename=\"x\"/>",
        ),
        ARM.replace("<link name=\"a\"/>", "<link name=\"a\"/><xacro:gripper/>"),
    ] {
        assert!(
            matches!(refused(&urdf), ModelError::UnexpandedXacro { .. }),
            "{urdf}"
        );
    }
}

#[test]
fn joints_without_their_parts_are_refused() {
    for (part, what) in [
        ("<parent link=\"a\"/>", "parent"),
        ("<child link=\"b\"/>", "child"),
        (" type=\"revolute\"", "type"),
    ] {
        let error = refused(&ARM.replace(part, ""));
        assert!(
            matches!(&error, ModelError::Missing { missing, .. } if missing.contains(what)),
            "{error}"
        );
    }
    let error = refused(&ARM.replace("link=\"b\"", "link=\"bb\""));
    assert!(error.to_string().contains("did you mean \"b\""), "{error}");
    assert!(matches!(
        refused(&ARM.replace("revolute", "rotary")),
        ModelError::UnknownJointType { .. }
    ));
    assert!(matches!(
        refused(&ARM.replace("0 0 1", "0 0 0")),
        ModelError::ZeroAxis { .. }
    ));
    assert!(matches!(
        refused(&ARM.replace("lower=\"-1\"", "lower=\"nan\"")),
        ModelError::InvalidNumber { .. }
    ));
}

#[test]
fn a_loop_away_from_the_root_is_found() {
    let ring = r#"<robot name="r"><link name="base"/><link name="a"/><link name="b"/>
      <joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>
      <joint name="ba" type="fixed"><parent link="b"/><child link="a"/></joint></robot>"#;
    match refused(ring) {
        ModelError::Loop { mut joints } => {
            joints.sort();
            assert_eq!(joints, ["ab", "ba"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_partial_inertial_does_not_matter() {
    let urdf = ARM.replace(
        "<link name=\"b\"/>",
        "<link name=\"b\"><inertial><mass value=\"1\"/></inertial></link>",
    );
    assert!(RobotModel::from_urdf(&urdf).is_ok());
}

#[test]
fn a_follower_narrows_its_driver() {
    let urdf = r#"<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
      <joint name="f" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
        <mimic joint="j" multiplier="-2" offset="0.1"/>
        <limit lower="-0.5" upper="1.1" velocity="1" effort="1"/></joint></robot>"#;
    let dof = RobotModel::from_urdf(urdf)
        .unwrap()
        .chain("", "", false)
        .unwrap()
        .dofs
        .remove(0);
    assert!(
        (dof.lower + 0.5).abs() < 1e-12 && (dof.upper - 0.3).abs() < 1e-12,
        "{dof:?}"
    );
    assert_eq!(dof.velocity, Some(0.5));
}

#[test]
fn ends_of_chains_are_found_or_listed() {
    let urdf = r#"<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
      <joint name="f" type="fixed"><parent link="a"/><child link="c"/></joint></robot>"#;
    let model = RobotModel::from_urdf(urdf).unwrap();
    let message = |base, tip| model.chain(base, tip, false).unwrap_err().to_string();
    assert!(message("", "").contains("b, c"));
    assert!(message("", "d").contains("does not exist"));
    assert!(message("", "c").contains("moves"));
    assert!(message("b", "c").contains("not below"));
    assert_eq!(model.chain("", "b", false).unwrap().base, "a");
}
