//! Whole-arm checks on robots made of primitives, against answers that geometry gives by hand.

use arm_planner::collision::{
    AllowedPair, CheckError, CheckScratch, CollisionModel, CollisionOptions, CollisionWarning,
    CollisionWorld, Contact, MotionChecker, MotionVerdict, Obstacle, Prism, WorldError,
};
use arm_planner::model::{Chain, Geometry, RobotModel};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(0x00c0_111d),
        ..Config::default()
    }
}

/// A link that three sliding joints carry anywhere, with `shape` as its collision geometry.
fn slider(shape: &str) -> (RobotModel, Chain) {
    let joint = |name: &str, parent: &str, child: &str, axis: &str| {
        format!(
            r#"<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>
            <axis xyz="{axis}"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>"#
        )
    };
    let text = format!(
        r#"<robot name="slider"><link name="base"/><link name="a"/><link name="b"/>
        <link name="body"><collision><geometry>{shape}</geometry></collision></link>{}{}{}</robot>"#,
        joint("x", "base", "a", "1 0 0"),
        joint("y", "a", "b", "0 1 0"),
        joint("z", "b", "body", "0 0 1"),
    );
    load(&text, "base", "body")
}

fn load(text: &str, base: &str, tip: &str) -> (RobotModel, Chain) {
    let model = RobotModel::from_urdf(text).unwrap();
    let chain = model.chain(base, tip, false).unwrap();
    (model, chain)
}

/// A planar arm of three links, each `1 m` of capsule along x with radius 0.1 (ends included),
/// turning about z; a finger is fixed to the last, and a base plate stands at the origin.
fn planar_arm() -> (RobotModel, Chain) {
    let capsule = |name: &str| {
        format!(
            r#"<link name="{name}"><collision><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/>
            <geometry><capsule radius="0.1" length="0.6"/></geometry></collision></link>"#
        )
    };
    let joint = |name: &str, parent: &str, child: &str, x: f64| {
        format!(
            r#"<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
            <origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>
            <limit lower="-3.1" upper="3.1" effort="1" velocity="1"/></joint>"#
        )
    };
    let text = format!(
        r#"<robot name="planar"><link name="base"><collision><origin xyz="-2 0 0"/>
        <geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>{}{}{}
        <link name="finger"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
        {}{}{}<joint name="grip" type="fixed"><parent link="l3"/><child link="finger"/>
        <origin xyz="1.2 0 0"/></joint></robot>"#,
        capsule("l1"),
        capsule("l2"),
        capsule("l3"),
        joint("j1", "base", "l1", 0.0),
        joint("j2", "l1", "l2", 1.0),
        joint("j3", "l2", "l3", 1.0),
    );
    load(&text, "base", "l3")
}

fn no_meshes(_: &str) -> Option<Vec<Vec<[f64; 3]>>> {
    None
}

fn arm(model: &(RobotModel, Chain), options: &CollisionOptions) -> CollisionModel {
    CollisionModel::new(&model.0, &model.1, &no_meshes, options)
}

fn prism(id: &str, polygon: &[[f64; 2]], min_z: f64, max_z: f64) -> Prism {
    Prism {
        id: id.into(),
        polygon: polygon.to_vec(),
        min_z,
        max_z,
    }
}

fn square(centre: [f64; 2], half: f64) -> Vec<[f64; 2]> {
    [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
        .map(|[x, y]| [centre[0] + half * x, centre[1] + half * y])
        .to_vec()
}

fn world(prisms: &[Prism]) -> CollisionWorld {
    CollisionWorld::new(prisms).unwrap()
}

/// Distance of a point from a solid polygon, by its edges and a winding sum.
fn to_polygon(p: [f64; 2], polygon: &[[f64; 2]]) -> f64 {
    let n = polygon.len();
    let (mut winding, mut least) = (0.0, f64::INFINITY);
    for i in 0..n {
        let (a, b) = (polygon[i], polygon[(i + 1) % n]);
        let (u, v) = ([a[0] - p[0], a[1] - p[1]], [b[0] - p[0], b[1] - p[1]]);
        winding += (u[0] * v[1] - u[1] * v[0]).atan2(u[0] * v[0] + u[1] * v[1]);
        let e = [b[0] - a[0], b[1] - a[1]];
        let t = (-(u[0] * e[0] + u[1] * e[1]) / (e[0] * e[0] + e[1] * e[1])).clamp(0.0, 1.0);
        least = f64::min(least, (u[0] + t * e[0]).hypot(u[1] + t * e[1]));
    }
    if winding.abs() > 3.0 {
        0.0
    } else {
        least
    }
}

/// Distance of the intervals.
fn gap(a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 - b.1).max(b.0 - a.1).max(0.0)
}

fn star() -> impl Strategy<Value = Vec<[f64; 2]>> {
    prop::collection::vec(0.2..2.0f64, 3..12).prop_map(|radii| {
        let n = radii.len() as f64;
        let point = |(i, r): (usize, &f64)| {
            let angle = i as f64 / n * std::f64::consts::TAU;
            [r * angle.cos(), r * angle.sin()]
        };
        radii.iter().enumerate().map(point).collect()
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn a_sphere_keeps_its_distance_from_any_prism(
        polygon in star(),
        q in prop::array::uniform3(-4.0..4.0f64),
        height in (-1.0..0.5f64, 0.1..2.0f64),
        radius in 0.01..0.5f64,
        clearance in 0.0..0.3f64,
    ) {
        let model = slider(&format!(r#"<sphere radius="{radius}"/>"#));
        let options = CollisionOptions { clearance, ..Default::default() };
        let arm = arm(&model, &options);
        let (low, high) = (height.0, height.0 + height.1);
        let world = world(&[prism("p", &polygon, low, high)]);
        let across = to_polygon([q[0], q[1]], &polygon);
        let along = gap((q[2], q[2]), (low, high));
        let exact = (across.hypot(along) - radius).max(0.0);
        let found = arm.distance(&q, &world).unwrap();
        prop_assert!((found - exact).abs() < 1e-6, "{found} for {exact}");
        if (exact - clearance).abs() > 1e-6 {
            prop_assert_eq!(arm.check(&q, &world).unwrap().is_some(), exact < clearance);
        }
    }

    #[test]
    fn boxes_keep_the_distance_of_their_intervals(
        size in prop::array::uniform3(0.1..1.0f64),
        q in prop::array::uniform3(-3.0..3.0f64),
        half in 0.1..1.0f64,
    ) {
        let model = slider(&format!(r#"<box size="{} {} {}"/>"#, size[0], size[1], size[2]));
        let arm = arm(&model, &CollisionOptions::default());
        let world = world(&[prism("p", &square([0.0; 2], half), -0.5, 0.7)]);
        let side = |k: usize| (q[k] - 0.5 * size[k], q[k] + 0.5 * size[k]);
        let gaps = [
            gap(side(0), (-half, half)),
            gap(side(1), (-half, half)),
            gap(side(2), (-0.5, 0.7)),
        ];
        let exact = gaps.iter().map(|g| g * g).sum::<f64>().sqrt();
        prop_assert!((arm.distance(&q, &world).unwrap() - exact).abs() < 1e-6);
    }

    #[test]
    fn upright_cylinders_keep_the_distance_of_their_discs(
        polygon in star(),
        q in prop::array::uniform3(-3.0..3.0f64),
        radius in 0.05..0.5f64,
        length in 0.1..1.0f64,
    ) {
        let model = slider(&format!(r#"<cylinder radius="{radius}" length="{length}"/>"#));
        let arm = arm(&model, &CollisionOptions::default());
        let world = world(&[prism("p", &polygon, -0.5, 0.7)]);
        let across = (to_polygon([q[0], q[1]], &polygon) - radius).max(0.0);
        let along = gap((q[2] - 0.5 * length, q[2] + 0.5 * length), (-0.5, 0.7));
        let exact = across.hypot(along);
        prop_assert!((arm.distance(&q, &world).unwrap() - exact).abs() < 1e-5);
    }

    #[test]
    fn the_check_and_the_distance_agree(q in prop::array::uniform3(-3.0..3.0f64)) {
        let model = planar_arm();
        let arm = arm(&model, &CollisionOptions::default());
        let world = world(&[
            prism("one", &square([1.2, 0.8], 0.15), -1.0, 1.0),
            prism("two", &square([-0.8, 1.0], 0.2), -1.0, 1.0),
            prism("above", &square([0.5, 0.0], 0.5), 0.2, 1.0),
        ]);
        let contact = arm.check(&q, &world).unwrap();
        let distance = arm.distance(&q, &world).unwrap();
        prop_assert_eq!(contact.is_some(), distance <= 0.0, "{:?} {}", contact, distance);
    }
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn motions_are_free_or_not_as_dense_sampling_says(
        from in prop::array::uniform3(-3.0..3.0f64),
        to in prop::array::uniform3(-3.0..3.0f64),
    ) {
        let model = planar_arm();
        let arm = arm(&model, &CollisionOptions::default());
        let prisms = [
            prism("pin", &square([1.6, 0.9], 0.005), -1.0, 1.0),
            prism("above", &square([-1.0, 0.5], 0.3), 0.05, 1.0),
        ];
        let world = world(&prisms);
        let mut scratch = CheckScratch::default();
        let tolerance = 1e-4;
        let found = arm.check_motion(&from, &to, &world, tolerance, &mut scratch).unwrap();
        let at = |fraction: f64| [0, 1, 2].map(|k| from[k] + (to[k] - from[k]) * fraction);
        match found {
            Some(found) => {
                // There may be others: only what it names is left.
                let named = prisms.iter().filter(|prism| {
                    found.contact.with == Obstacle::Obstacle(prism.id.clone())
                });
                let named = CollisionWorld::new(&named.cloned().collect::<Vec<_>>()).unwrap();
                prop_assert!(arm.check(&at(found.fraction), &named).unwrap().is_some());
            }
            None => for k in 0..=4000 {
                let q = at(f64::from(k) / 4000.0);
                if arm.check(&q, &world).unwrap().is_some() {
                    // A graze: a little aside it is free.
                    let shrunk = arm.distance(&q, &world).unwrap();
                    prop_assert!(shrunk == 0.0 && grazes(&q, &world), "{k} {q:?}");
                }
            },
        }
    }
}

/// Whether an arm that is thinner by the tolerance would be free at `q`.
fn grazes(q: &[f64], world: &CollisionWorld) -> bool {
    let (robot, chain) = planar_arm();
    let mut thin = robot;
    for link in &mut thin.links {
        for shape in &mut link.collision {
            match &mut shape.geometry {
                Geometry::Capsule { radius, .. } | Geometry::Sphere { radius } => *radius -= 2e-4,
                _ => {}
            }
        }
    }
    let arm = CollisionModel::new(&thin, &chain, &no_meshes, &CollisionOptions::default());
    arm.check(q, world).unwrap().is_none()
}

#[test]
fn a_thin_post_between_two_samples_is_not_missed() {
    let model = planar_arm();
    let arm = arm(&model, &CollisionOptions::default());
    let world = world(&[prism("post", &square([2.0, 2.0], 1e-4), -1.0, 1.0)]);
    let mut scratch = CheckScratch::default();
    let (from, to) = ([0.0, 0.0, 0.0], [1.5, 0.0, 0.0]);
    let free = |q: &[f64; 3]| arm.check(q, &world).unwrap().is_none();
    assert!(free(&from) && free(&to));
    let found = arm
        .check_motion(&from, &to, &world, 1e-4, &mut scratch)
        .unwrap()
        .unwrap();
    assert_eq!(found.contact.with, Obstacle::Obstacle("post".into()));
    assert!((found.fraction - 0.52).abs() < 0.1);
    let short = [0.6, 0.0, 0.0];
    assert_eq!(
        arm.check_motion(&from, &short, &world, 1e-4, &mut scratch),
        Ok(None)
    );
}

#[test]
fn the_contact_names_link_and_obstacle() {
    let model = planar_arm();
    let arm = arm(&model, &CollisionOptions::default());
    let scene = [
        prism("far", &square([5.0, 5.0], 0.5), -1.0, 1.0),
        prism("near", &square([0.5, 0.5], 0.1), -1.0, 1.0),
    ];
    let world = world(&scene);
    assert_eq!(arm.check(&[0.0, 0.5, 0.5], &world).unwrap(), None);
    let contact = arm.check(&[0.785, 0.0, 0.0], &world).unwrap().unwrap();
    let near = Obstacle::Obstacle("near".into());
    assert_eq!(
        contact,
        Contact {
            link: "l1".into(),
            with: near
        }
    );
}

#[test]
fn heights_decide_too() {
    let model = planar_arm();
    let arm = arm(&model, &CollisionOptions::default());
    let at = |min_z: f64, max_z: f64| {
        let world = world(&[prism("slab", &square([1.5, 0.0], 3.0), min_z, max_z)]);
        arm.check(&[0.0, 0.0, 0.0], &world).unwrap().is_some()
    };
    assert!(!at(0.11, 1.0) && at(0.09, 1.0));
    assert!(!at(-1.0, -0.11) && at(-1.0, -0.09));
    assert!(at(f64::NEG_INFINITY, f64::INFINITY) && at(-0.05, f64::INFINITY));
    assert!(!at(0.11, f64::INFINITY) && !at(5e3, f64::INFINITY));
}

#[test]
fn an_arm_that_folds_onto_itself_is_seen() {
    let model = planar_arm();
    let arm = arm(&model, &CollisionOptions::default());
    let empty = CollisionWorld::default();
    assert_eq!(arm.check(&[0.3, 1.0, -1.0], &empty).unwrap(), None);
    // Two turns of 2.5 rad bring the third link back over the first.
    let contact = arm.check(&[0.3, 2.5, 2.5], &empty).unwrap().unwrap();
    let named = (contact.link.as_str(), contact.with);
    assert_eq!(named, ("l1", Obstacle::Link("l3".into())));
    // Neighbours overlap at their joint and are not compared.
    let neighbours = AllowedPair::Adjacent("l1".into(), "l2".into());
    assert!(arm.allowed_pairs().contains(&neighbours));
    let allowed = vec![
        ("l3".to_string(), "l1".to_string()),
        ("finger".to_string(), "l1".to_string()),
        ("finger".to_string(), "l2".to_string()),
    ];
    let options = CollisionOptions {
        allowed,
        ..Default::default()
    };
    let lenient = CollisionModel::new(&model.0, &model.1, &no_meshes, &options);
    assert_eq!(lenient.check(&[0.3, 2.5, 2.5], &empty).unwrap(), None);
}

#[test]
fn what_is_fixed_to_the_arm_counts_and_what_stands_still_meets_links_only() {
    let model = planar_arm();
    let arm = arm(&model, &CollisionOptions::default());
    // The finger's sphere is at 3.2, beyond the last link's capsule (to 2.9).
    let finger = world(&[prism("post", &square([3.2, 0.0], 0.02), -1.0, 1.0)]);
    let contact = arm.check(&[0.0, 0.0, 0.0], &finger).unwrap().unwrap();
    assert_eq!(contact.link, "finger");
    // An obstacle at the base plate (x = -2) is no contact, an arm that reaches the plate is one.
    let plate = world(&[prism("table", &square([-2.0, 0.0], 0.1), -1.0, 1.0)]);
    assert_eq!(arm.check(&[0.0, 0.5, 0.0], &plate).unwrap(), None);
    let reaching = arm
        .check(&[3.1, 0.0, 0.0], &CollisionWorld::default())
        .unwrap()
        .unwrap();
    assert_eq!(reaching.link, "base");
}

#[test]
fn links_always_in_contact_are_found_by_sampling() {
    // A big sphere on the first link swallows the whole second and third link's joints.
    let text = r#"<robot name="ball"><link name="base"/>
        <link name="a"><collision><geometry><sphere radius="1"/></geometry></collision></link>
        <link name="b"/>
        <link name="c"><collision><geometry><sphere radius="0.5"/></geometry></collision></link>
        <joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
        <joint name="j2" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>
        <joint name="j3" type="continuous"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/></joint>
        </robot>"#;
    let model = load(text, "base", "c");
    let arm = arm(&model, &CollisionOptions::default());
    let always = AllowedPair::AlwaysInContact("a".into(), "c".into());
    assert_eq!(arm.allowed_pairs(), [always]);
    assert_eq!(
        arm.check(&[0.0; 3], &CollisionWorld::default()).unwrap(),
        None
    );
    let strict = CollisionOptions {
        samples: 0,
        ..Default::default()
    };
    let strict = CollisionModel::new(&model.0, &model.1, &no_meshes, &strict);
    assert!(strict
        .check(&[0.0; 3], &CollisionWorld::default())
        .unwrap()
        .is_some());
}

#[test]
fn a_mesh_is_the_hull_of_its_points_and_a_missing_one_is_told() {
    let model = slider(r#"<mesh filename="package://robot/cube.stl" scale="2 1 1"/>"#);
    let cube = |name: &str| {
        assert_eq!(name, "package://robot/cube.stl");
        let mut points = vec![[0.1, 0.2, -0.3], [0.0; 3]];
        for k in 0..8 {
            points.push([0, 1, 2].map(|bit| if k >> bit & 1 == 0 { -0.5 } else { 0.5 }));
        }
        Some(vec![points])
    };
    let arm = CollisionModel::new(&model.0, &model.1, &cube, &CollisionOptions::default());
    assert!(arm.warnings().is_empty() && arm.has_shapes());
    let world = world(&[prism("p", &square([5.0, 0.0], 1.0), -1.0, 1.0)]);
    // The cube is 2 m long in x: from 1 to 4.
    assert!((arm.distance(&[0.0; 3], &world).unwrap() - 3.0).abs() < 1e-9);
    let arm = CollisionModel::new(&model.0, &model.1, &no_meshes, &CollisionOptions::default());
    let warning = &arm.warnings()[0];
    assert!(matches!(warning, CollisionWarning::MeshMissing { link, .. } if link == "body"));
    assert!(warning.to_string().contains("cube.stl"));
    assert!((arm.distance(&[0.0; 3], &world).unwrap() - 3.95).abs() < 1e-9);
}

#[test]
fn a_missing_mesh_becomes_a_capsule_to_the_next_joint() {
    let text = r#"<robot name="arm"><link name="base"/>
        <link name="a"><visual><geometry><mesh filename="a.dae"/></geometry></visual></link>
        <link name="b"/>
        <joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
        <joint name="j2" type="continuous"><parent link="a"/><child link="b"/><origin xyz="2 0 0"/><axis xyz="0 0 1"/></joint>
        </robot>"#;
    let model = load(text, "base", "b");
    let arm = arm(&model, &CollisionOptions::default());
    let kinds = arm.warnings();
    assert!(matches!(&kinds[0], CollisionWarning::VisualUsed { link } if link == "a"));
    assert!(matches!(&kinds[1], CollisionWarning::MeshMissing { .. }));
    let world = world(&[prism("p", &square([1.0, 1.0], 0.5), -1.0, 1.0)]);
    // 0.5 from the line between the joints, less the radius of 0.05.
    assert!((arm.distance(&[0.0, 0.0], &world).unwrap() - 0.45).abs() < 1e-9);
}

#[test]
fn pairs_that_only_meet_beyond_the_limits_are_seen_there() {
    let link = |name: &str| {
        format!(
            r#"<link name="{name}"><collision><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/>
            <geometry><capsule radius="0.1" length="0.6"/></geometry></collision></link>"#
        )
    };
    let joint = |name: &str, parent: &str, child: &str, x: f64| {
        format!(
            r#"<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
            <origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>
            <limit lower="-0.5" upper="0.5" effort="1" velocity="1"/></joint>"#
        )
    };
    let text = format!(
        r#"<robot name="stiff"><link name="base"/>{}{}{}{}{}{}</robot>"#,
        link("l1"),
        link("l2"),
        link("l3"),
        joint("j1", "base", "l1", 0.0),
        joint("j2", "l1", "l2", 1.0),
        joint("j3", "l2", "l3", 1.0),
    );
    let arm = arm(&load(&text, "base", "l3"), &CollisionOptions::default());
    let never = |pair: &AllowedPair| matches!(pair, AllowedPair::NeverInContact(..));
    assert!(arm.allowed_pairs().iter().any(never));
    let empty = CollisionWorld::default();
    let mut checker = MotionChecker::new(&arm, &empty);
    // A triangle: the last link's end meets the first link.
    let folded = [0.0, 2.0944, 2.0944];
    assert!(arm.check(&folded, &empty).unwrap().is_some());
    assert!(!checker.is_free(&folded).unwrap());
    let inside = [0.5; 3];
    assert!(checker.is_free(&inside).unwrap());
    let (from, to) = ([0.0; 3], [0.0, 2.6, 2.6]);
    let mut scratch = CheckScratch::default();
    let met = arm.check_motion(&from, &to, &empty, 1e-3, &mut scratch);
    assert!(met.unwrap().is_some());
    assert!(!checker.motion_is_free(&from, &to, 1e-3).unwrap());
    assert!(checker.motion_is_free(&inside, &[-0.5; 3], 1e-3).unwrap());
}

#[test]
fn joints_outside_the_chain_stand_where_they_are_told() {
    let text = r#"<robot name="gripper"><link name="base"/><link name="hand"/>
        <link name="jaw"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="hand"/><axis xyz="0 0 1"/></joint>
        <joint name="slide" type="prismatic"><parent link="hand"/><child link="jaw"/>
        <axis xyz="0 1 0"/><limit lower="0.5" upper="2" effort="1" velocity="1"/></joint></robot>"#;
    let model = load(text, "base", "hand");
    let world = world(&[prism("p", &square([0.0, 3.0], 0.5), -1.0, 1.0)]);
    let mut options = CollisionOptions::default();
    // At zero it would be outside its limits: it stands at 0.5.
    let distance = arm(&model, &options).distance(&[0.0], &world).unwrap();
    assert!((distance - 1.9).abs() < 1e-9);
    options.other_joints.insert("slide".into(), 1.5);
    options.other_joints.insert("slyde".into(), 1.5);
    let told = arm(&model, &options);
    assert!((told.distance(&[0.0], &world).unwrap() - 0.9).abs() < 1e-9);
    let unknown = CollisionWarning::UnknownName {
        name: "slyde".into(),
    };
    assert_eq!(told.warnings(), [unknown]);
}

#[test]
fn bad_configurations_get_a_clear_error() {
    let model = planar_arm();
    let arm = arm(&model, &CollisionOptions::default());
    let empty = CollisionWorld::default();
    assert!(matches!(
        arm.check(&[0.0], &empty),
        Err(CheckError::Size(_))
    ));
    for bad in [f64::NAN, f64::INFINITY] {
        let error = arm.check(&[0.0, bad, 0.0], &empty).unwrap_err();
        assert!(matches!(error, CheckError::NotFinite { joint: 1, .. }));
    }
    assert!(arm.distance(&[0.0; 3], &empty).unwrap() > 0.0);
}

#[test]
fn bad_obstacles_get_a_clear_error() {
    let new = |p: Prism| CollisionWorld::new(&[p]).unwrap_err();
    let line = [[0.0, 0.0], [1.0, 0.0]];
    assert!(matches!(new(prism("a", &line, 0.0, 1.0)), WorldError::NoArea { id } if id == "a"));
    let bow = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
    assert!(matches!(
        new(prism("b", &bow, 0.0, 1.0)),
        WorldError::SelfCrossing { .. }
    ));
    let nan = [[0.0, 0.0], [1.0, 1.0], [1.0, f64::NAN]];
    assert!(matches!(
        new(prism("c", &nan, 0.0, 1.0)),
        WorldError::Coordinate { .. }
    ));
    let fine = square([0.0; 2], 1.0);
    for (low, high) in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
        assert!(matches!(
            new(prism("d", &fine, low, high)),
            WorldError::Heights { .. }
        ));
    }
}

/// A frame of obstacles that leans against the arm's base: the same answers as for an arm whose description
/// has a leaning joint below its base and whose obstacles stand upright; the ground stays that of the base.
#[test]
fn obstacles_may_stand_in_a_frame_that_leans() {
    let file = format!("{}/urdf/six_axis.urdf", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let plain = load(&text, "base_link", "tool0");
    let mut runner = proptest::test_runner::TestRunner::new(config(40));
    let counts = [(); 3].map(|()| std::cell::Cell::new(0));
    let [hits, free, met] = &counts;
    let count = |cell: &std::cell::Cell<usize>, by: bool| cell.set(cell.get() + usize::from(by));
    let input = (
        prop::array::uniform3(-0.3..0.3f64),
        prop::array::uniform3(-1.5..1.5f64),
        prop::collection::vec((-0.6..0.6f64, -0.6..0.6f64, 0.02..0.1f64, -0.5..0.5f64), 6),
        prop::collection::vec(prop::array::uniform6(-2.5..2.5f64), 12),
        -0.2..0.4f64,
    );
    runner
        .run(&input, |(xyz, rpy, pillars, configurations, height)| {
            let origin = format!(
                r#"<link name="slope"/><joint name="leans" type="fixed"><parent link="slope"/>
                <child link="base_link"/><origin xyz="{} {} {}" rpy="{} {} {}"/></joint></robot>"#,
                xyz[0], xyz[1], xyz[2], rpy[0], rpy[1], rpy[2]
            );
            let slanted = load(&text.replace("</robot>", &origin), "slope", "tool0");
            let base = nalgebra::Isometry3::from_parts(
                nalgebra::Vector3::from(xyz).into(),
                nalgebra::UnitQuaternion::from_euler_angles(rpy[0], rpy[1], rpy[2]),
            );
            let leaning = CollisionOptions {
                frame: base.inverse(),
                clearance: 0.01,
                ..CollisionOptions::default()
            };
            let upright = CollisionOptions {
                clearance: 0.01,
                ..CollisionOptions::default()
            };
            let (one, two) = (arm(&plain, &leaning), arm(&slanted, &upright));
            let level = arm(&plain, &upright);
            let prisms: Vec<Prism> = pillars
                .iter()
                .enumerate()
                .map(|(k, &(x, y, half, low))| {
                    prism(&k.to_string(), &square([x, y], half), low, low + 0.5)
                })
                .collect();
            let obstacles = world(&prisms);
            let empty = world(&[]);
            let (mut first, mut second) = (
                MotionChecker::new(&one, &obstacles),
                MotionChecker::new(&two, &obstacles),
            );
            let ground = empty.clone().with_ground(height);
            let mut on_ground = MotionChecker::new(&one, &ground);
            for (q, to) in configurations.iter().zip(configurations.iter().skip(1)) {
                let near = one.distance(q, &obstacles).unwrap();
                let same = two.distance(q, &obstacles).unwrap();
                prop_assert!((near - same).abs() < 1e-6, "{} {}", near, same);
                if (near - 0.01).abs() > 1e-6 {
                    let found = one.check(q, &obstacles).unwrap();
                    count(hits, found.is_some());
                    prop_assert_eq!(found.is_some(), two.check(q, &obstacles).unwrap().is_some());
                }
                let verdicts =
                    [&mut first, &mut second].map(|checker| checker.motion(q, to, 1e-4).unwrap());
                match &verdicts {
                    [MotionVerdict::Free, MotionVerdict::Free] => count(free, true),
                    [MotionVerdict::Contact(a), MotionVerdict::Contact(b)] => {
                        count(met, true);
                        prop_assert_eq!(&a.contact, &b.contact);
                    }
                    [MotionVerdict::TooClose(_), _] | [_, MotionVerdict::TooClose(_)] => {}
                    _ => prop_assert!(false, "{:?}", verdicts),
                }
                // The ground does not lean.
                prop_assert_eq!(
                    one.check(q, &ground).unwrap(),
                    level.check(q, &ground).unwrap()
                );
                prop_assert_eq!(
                    on_ground.is_free(q).unwrap(),
                    level
                        .is_free(q, &ground, &mut CheckScratch::default())
                        .unwrap()
                );
            }
            Ok(())
        })
        .unwrap();
    let [hits, free, met] = counts.map(|cell| cell.get());
    println!("hits {hits}, free {free}, met {met}");
    assert!(hits > 20 && free > 5 && met > 20);
}
