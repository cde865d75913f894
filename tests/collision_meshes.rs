//! Whole-arm checks on robots made of meshes, against `parry3d`'s own shapes and distances.

use arm_planner::collision::{
    AllowedPair, CheckScratch, CollisionModel, CollisionOptions, CollisionWarning, CollisionWorld,
    MeshError, MeshStore, Obstacle, Prism, GROUND,
};
use arm_planner::kinematics::link_poses;
use arm_planner::model::{Chain, RobotModel};
use parry3d_f64::math::{Pose, Rotation, Vector};
use parry3d_f64::query;
use parry3d_f64::shape::ConvexPolyhedron;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(0x0000_4011),
        ..Config::default()
    }
}

/// A base and three links of meshes `a` to `d`: turning about z, sliding along a slanted axis, turning
/// about y. The last mesh is mirrored by its scale.
fn robot() -> (RobotModel, Chain) {
    let link = |name: &str, scale: &str| {
        format!(
            r#"<link name="{name}"><collision><origin xyz="0.1 0 0.05" rpy="0.3 -0.2 0.5"/>
            <geometry><mesh filename="{name}" scale="{scale}"/></geometry></collision></link>"#
        )
    };
    let joint = |kind: &str, parent: &str, child: &str, axis: &str| {
        format!(
            r#"<joint name="{parent}{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
            <origin xyz="0.4 0.1 0.2" rpy="0.2 0.4 -0.3"/><axis xyz="{axis}"/>
            <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>"#
        )
    };
    let text = format!(
        r#"<robot name="meshes">{}{}{}{}{}{}{}</robot>"#,
        link("a", "1 1 1"),
        link("b", "1 1 1"),
        link("c", "0.5 1 1"),
        link("d", "1 -1 1"),
        joint("revolute", "a", "b", "0 0 1"),
        joint("prismatic", "b", "c", "1 1 0"),
        joint("revolute", "c", "d", "0 1 0"),
    );
    let model = RobotModel::from_urdf(&text).unwrap();
    let chain = model.chain("a", "d", false).unwrap();
    (model, chain)
}

/// Points around the origin, `count` of them.
fn cloud(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<[f64; 3]>> {
    prop::collection::vec(prop::array::uniform3(-0.25..0.25f64), count)
}

fn clouds() -> impl Strategy<Value = Vec<Vec<[f64; 3]>>> {
    (cloud(4..9), cloud(12..80), cloud(4..9), cloud(12..40))
        .prop_map(|(a, b, c, d)| vec![a, b, c, d])
}

fn store(clouds: &[Vec<[f64; 3]>]) -> MeshStore {
    let named = ["a", "b", "c", "d"].into_iter().zip(clouds);
    MeshStore {
        meshes: named
            .map(|(name, cloud)| (name.to_owned(), Ok(vec![cloud.clone()])))
            .collect(),
    }
}

/// A regular polygon, so that it is convex.
fn prisms() -> impl Strategy<Value = Vec<Prism>> {
    let one = (
        prop::array::uniform2(-1.5..1.5f64),
        0.02..0.5f64,
        3..8usize,
        -0.5..1.0f64,
        0.05..1.0f64,
    );
    prop::collection::vec(one, 0..14).prop_map(|all| {
        let prism =
            |(index, (at, radius, n, low, height)): (usize, ([f64; 2], f64, usize, f64, f64))| {
                Prism {
                    id: index.to_string(),
                    polygon: (0..n)
                        .map(|k| {
                            let angle = (k as f64 + 0.3) / n as f64 * std::f64::consts::TAU;
                            [at[0] + radius * angle.cos(), at[1] + radius * angle.sin()]
                        })
                        .collect(),
                    min_z: low,
                    max_z: low + height,
                }
            };
        all.into_iter().enumerate().map(prism).collect()
    })
}

fn solid(points: impl Iterator<Item = [f64; 3]>) -> ConvexPolyhedron {
    let points: Vec<Vector> = points.map(Vector::from_array).collect();
    ConvexPolyhedron::from_convex_hull(&points).unwrap()
}

/// Least distances to obstacles and between links that are not neighbours, by shapes and frames that
/// have nothing to do with the model under test.
fn distances(clouds: &[Vec<[f64; 3]>], prisms: &[Prism], chain: &Chain, q: &[f64]) -> (f64, f64) {
    let scales = [
        [1.0, 1.0, 1.0],
        [1.0, 1.0, 1.0],
        [0.5, 1.0, 1.0],
        [1.0, -1.0, 1.0],
    ];
    let offset = nalgebra::Isometry3::from_parts(
        nalgebra::Translation3::new(0.1, 0.0, 0.05),
        nalgebra::UnitQuaternion::from_euler_angles(0.3, -0.2, 0.5),
    );
    let links: Vec<(Pose, ConvexPolyhedron)> = link_poses(chain, q)
        .unwrap()
        .iter()
        .zip(clouds.iter().zip(scales))
        .map(|(link, (cloud, scale))| {
            let at = link * offset;
            let (t, r) = (at.translation.vector, at.rotation.coords);
            let pose = Pose::from_parts(
                Vector::new(t.x, t.y, t.z),
                Rotation::from_xyzw(r.x, r.y, r.z, r.w),
            );
            let scaled = cloud.iter().map(|p| [0, 1, 2].map(|k| p[k] * scale[k]));
            (pose, solid(scaled))
        })
        .collect();
    let between = |a: &(Pose, ConvexPolyhedron), b: &(Pose, ConvexPolyhedron)| {
        query::distance(&a.0, &a.1, &b.0, &b.1).unwrap().distance
    };
    let mut to_world = f64::INFINITY;
    for prism in prisms {
        let ends = [prism.min_z, prism.max_z];
        let corners = ends
            .into_iter()
            .flat_map(|z| prism.polygon.iter().map(move |c| [c[0], c[1], z]));
        let prism = (Pose::IDENTITY, solid(corners));
        for link in links.iter().skip(1) {
            to_world = to_world.min(between(link, &prism));
        }
    }
    let mut to_self = f64::INFINITY;
    for (i, j) in [(0, 2), (0, 3), (1, 3)] {
        to_self = to_self.min(between(&links[i], &links[j]));
    }
    (to_world, to_self)
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn verdicts_and_distances_are_those_of_parry(
        clouds in clouds(), prisms in prisms(),
        configurations in prop::collection::vec(prop::array::uniform3(-2.0..2.0f64), 6),
        clearance in prop::sample::select(vec![0.0, 0.03, 0.2]),
        self_clearance in prop::sample::select(vec![0.0, 0.02]),
    ) {
        let (model, chain) = robot();
        let options = CollisionOptions { clearance, self_clearance, samples: 0, looks: 0, ..Default::default() };
        let arm = CollisionModel::with_meshes(&model, &chain, &store(&clouds), &options);
        prop_assert!(arm.warnings().is_empty());
        let world = CollisionWorld::new(&prisms).unwrap();
        let mut scratch = CheckScratch::default();
        for q in configurations {
            let (to_world, to_self) = distances(&clouds, &prisms, &chain, &q);
            let least = to_world.min(to_self);
            let found = arm.distance(&q, &world).unwrap();
            prop_assert!((found - least).abs() < 1e-6, "{found} {least}");
            let near = (to_world - clearance).abs().min((to_self - self_clearance).abs());
            if near > 1e-6 {
                let expected = to_world < clearance || to_self < self_clearance;
                let contact = arm.check_with(&q, &world, &mut scratch).unwrap();
                prop_assert_eq!(contact.is_some(), expected, "{:?} {} {}", contact, to_world, to_self);
                prop_assert_eq!(arm.is_free(&q, &world, &mut scratch).unwrap(), !expected);
            }
        }
    }

    #[test]
    fn a_motion_that_is_called_free_is_free_everywhere(
        clouds in clouds(), prisms in prisms(),
        from in prop::array::uniform3(-1.5..1.5f64), step in prop::array::uniform3(-1.0..1.0f64),
        clearance in prop::sample::select(vec![0.0, 0.05]),
    ) {
        let (model, chain) = robot();
        let strict = CollisionOptions { clearance, samples: 0, looks: 0, ..Default::default() };
        let arm = CollisionModel::with_meshes(&model, &chain, &store(&clouds), &strict);
        let world = CollisionWorld::new(&prisms).unwrap();
        let mut scratch = CheckScratch::default();
        let to = [0, 1, 2].map(|k| from[k] + step[k]);
        let at = |t: f64| [0, 1, 2].map(|k| from[k] + step[k] * t);
        let tolerance = 1e-4;
        let found = arm.check_motion(&from, &to, &world, tolerance, &mut scratch).unwrap();
        prop_assert_eq!(
            arm.is_motion_free(&from, &to, &world, tolerance, &mut scratch).unwrap(),
            found.is_none()
        );
        match found {
            Some(found) => {
                let distance = arm.distance(&at(found.fraction), &world).unwrap();
                prop_assert!(distance <= clearance + 1e-8, "{distance}");
            }
            None => for k in 0..=300 {
                let q = at(f64::from(k) / 300.0);
                let (to_world, to_self) = distances(&clouds, &prisms, &chain, &q);
                prop_assert!(to_world >= clearance - tolerance, "{k} {to_world}");
                prop_assert!(to_self > 0.0 || grazes(&arm, &q), "{k} {to_self}");
            },
        }
    }

    #[test]
    fn a_path_meets_where_its_first_segment_does(
        clouds in clouds(), prisms in prisms(),
        path in prop::collection::vec(prop::array::uniform3(-1.5..1.5f64), 0..8),
    ) {
        let (model, chain) = robot();
        let options = CollisionOptions { samples: 0, ..Default::default() };
        let arm = CollisionModel::with_meshes(&model, &chain, &store(&clouds), &options);
        let world = CollisionWorld::new(&prisms).unwrap();
        let mut scratch = CheckScratch::default();
        let found = arm.check_path(&path, &world, 1e-4, &mut scratch).unwrap();
        let mut expected = None;
        if let [only] = path.as_slice() {
            expected = arm.check(only, &world).unwrap().map(|contact| (0, 0.0, contact));
        }
        for (index, pair) in path.windows(2).enumerate() {
            let met = arm.check_motion(&pair[0], &pair[1], &world, 1e-4, &mut scratch).unwrap();
            if let Some(met) = met {
                expected = Some((index, met.fraction, met.contact));
                break;
            }
        }
        prop_assert_eq!(found.map(|f| (f.index, f.fraction, f.contact)), expected);
    }
}

/// Whether links of an arm touch by no more than a tenth of a millimetre's motion.
fn grazes(arm: &CollisionModel, q: &[f64; 3]) -> bool {
    let empty = CollisionWorld::default();
    [-1e-4, 1e-4].iter().any(|aside| {
        (0..3).any(|k| {
            let mut q = *q;
            q[k] += aside;
            arm.check(&q, &empty).unwrap().is_none()
        })
    })
}

fn cube(half: f64) -> Vec<[f64; 3]> {
    (0..8)
        .map(|k| [0, 1, 2].map(|bit| if k >> bit & 1 == 0 { -half } else { half }))
        .collect()
}

#[test]
fn the_ground_is_met_by_what_moves() {
    let (model, chain) = robot();
    let clouds = vec![cube(0.1); 4];
    let pair = |(a, b): (&str, &str)| (a.to_owned(), b.to_owned());
    let options = CollisionOptions {
        clearance: 0.05,
        allowed: [("a", "c"), ("a", "d"), ("b", "d")].map(pair).to_vec(),
        ..Default::default()
    };
    let arm = CollisionModel::with_meshes(&model, &chain, &store(&clouds), &options);
    let empty = CollisionWorld::default();
    let q = [0.3, 0.1, -0.2];
    // The lowest corner of the links b to d, from their frames.
    let distance = |height: f64| {
        arm.distance(&q, &empty.clone().with_ground(height))
            .unwrap()
    };
    let lowest = distance(-10.0) - 10.0;
    let poses = link_poses(&chain, &q).unwrap();
    let offset = nalgebra::Isometry3::from_parts(
        nalgebra::Translation3::new(0.1, 0.0, 0.05),
        nalgebra::UnitQuaternion::from_euler_angles(0.3, -0.2, 0.5),
    );
    let corner = |(k, pose): (usize, &nalgebra::Isometry3<f64>)| {
        let half = if k == 2 { 0.5 } else { 1.0 };
        cube(0.1)
            .into_iter()
            .map(move |p| (pose * offset * nalgebra::Point3::new(p[0] * half, p[1], p[2])).z)
            .fold(f64::INFINITY, f64::min)
    };
    let expected = poses
        .iter()
        .enumerate()
        .skip(1)
        .map(corner)
        .fold(f64::INFINITY, f64::min);
    assert!((lowest - expected).abs() < 1e-9, "{lowest} {expected}");
    let meets = |height: f64| arm.check(&q, &empty.clone().with_ground(height)).unwrap();
    assert_eq!(meets(lowest - 0.0501), None);
    let contact = meets(lowest - 0.0499).unwrap();
    assert_eq!(contact.with, Obstacle::Obstacle(GROUND.into()));
    // On the way too: the slide turns the last link down through the ground.
    let mut scratch = CheckScratch::default();
    let world = empty.clone().with_ground(lowest - 0.06);
    let back = [q[0], q[1], q[2] + std::f64::consts::TAU];
    let met = arm
        .check_motion(&q, &back, &world, 1e-4, &mut scratch)
        .unwrap();
    assert!(met.is_some_and(|met| met.fraction > 0.0 && met.fraction < 1.0));
    assert!(!world.is_empty() && world.ground().is_some());
    assert_eq!(empty.clone().with_ground(f64::NAN).ground(), None);
}

#[test]
fn a_mesh_that_cannot_be_used_says_why() {
    let (model, chain) = robot();
    let mut meshes = store(&[cube(0.1), cube(0.1), vec![], vec![[f64::NAN, 0.0, 0.0]]]);
    let why = MeshError::Unavailable("not found: looked for /x/b".into());
    meshes.meshes.insert("b".into(), Err(why));
    let options = CollisionOptions::default();
    let arm = CollisionModel::with_meshes(&model, &chain, &meshes, &options);
    let said: Vec<String> = arm.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3);
    assert!(
        said[0].contains("'b'") && said[0].contains("looked for /x/b"),
        "{}",
        said[0]
    );
    assert!(
        said[1].contains("no faces") && said[2].contains("finite"),
        "{said:?}"
    );
    assert!(arm.has_shapes());
    let nothing = CollisionModel::with_meshes(&model, &chain, &MeshStore::default(), &options);
    let missing = |w: &CollisionWarning| matches!(w, CollisionWarning::MeshMissing { .. });
    assert_eq!(nothing.warnings().iter().filter(|w| missing(w)).count(), 4);
}

#[test]
fn the_same_input_gives_the_same_answer_whatever_came_before() {
    let (model, chain) = robot();
    let clouds = vec![cube(0.15); 4];
    let options = CollisionOptions::default();
    let arm = CollisionModel::with_meshes(&model, &chain, &store(&clouds), &options);
    let square = |x: f64, y: f64| Prism {
        id: format!("{x} {y}"),
        polygon: vec![[x, y], [x + 0.2, y], [x + 0.2, y + 0.2], [x, y + 0.2]],
        min_z: -1.0,
        max_z: 0.6,
    };
    let grid = (0..40).map(|k| square(f64::from(k % 8) * 0.3 - 1.0, f64::from(k / 8) * 0.4 - 1.0));
    let world = CollisionWorld::new(&grid.collect::<Vec<_>>()).unwrap();
    let mut used = CheckScratch::default();
    for k in 0..200 {
        let x = f64::from(k);
        let q = [
            (x * 0.7).sin() * 3.0,
            (x * 1.3).sin(),
            (x * 2.1).sin() * 3.0,
        ];
        assert_eq!(
            arm.check_with(&q, &world, &mut used).unwrap(),
            arm.check(&q, &world).unwrap()
        );
        let to = [q[0] * 0.5, -q[1], q[2]];
        let again = arm.check_motion(&q, &to, &world, 1e-3, &mut used).unwrap();
        let fresh = arm
            .check_motion(&q, &to, &world, 1e-3, &mut CheckScratch::default())
            .unwrap();
        assert_eq!(again, fresh);
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn pairs_that_are_said_never_to_meet_never_do(
        clouds in clouds(),
        configurations in prop::collection::vec(prop::array::uniform3(-1.0..1.0f64), 40),
        limit in 0.2..1.5f64,
    ) {
        let (mut model, _) = robot();
        for joint in &mut model.joints {
            (joint.limits.lower, joint.limits.upper) = (-limit, limit);
        }
        let chain = model.chain("a", "d", false).unwrap();
        let arm = |looks: usize| {
            let options = CollisionOptions { looks, samples: 0, ..Default::default() };
            CollisionModel::with_meshes(&model, &chain, &store(&clouds), &options)
        };
        let (lazy, strict) = (arm(500), arm(0));
        let never = |pair: &&AllowedPair| matches!(pair, AllowedPair::NeverInContact(..));
        let proven = lazy.allowed_pairs().iter().filter(never).count();
        prop_assert_eq!(lazy.active_pairs().len() + proven, strict.active_pairs().len());
        let empty = CollisionWorld::default();
        for q in configurations {
            // Beyond the limits, too.
            let q = q.map(|value| value * 2.0 * limit);
            prop_assert_eq!(
                lazy.check(&q, &empty).unwrap().is_some(),
                strict.check(&q, &empty).unwrap().is_some()
            );
            let way = |arm: &CollisionModel| {
                let mut scratch = CheckScratch::default();
                arm.is_motion_free(&[0.0; 3], &q, &empty, 1e-3, &mut scratch).unwrap()
            };
            prop_assert_eq!(way(&lazy), way(&strict));
        }
    }
}

#[test]
fn links_that_are_too_short_to_meet_are_proven_apart() {
    let (mut model, _) = robot();
    for joint in &mut model.joints {
        (joint.limits.lower, joint.limits.upper) = (-0.3, 0.3);
    }
    let chain = model.chain("a", "d", false).unwrap();
    let clouds = vec![cube(0.1); 4];
    let options = CollisionOptions::default();
    let arm = CollisionModel::with_meshes(&model, &chain, &store(&clouds), &options);
    let never = AllowedPair::NeverInContact("a".into(), "d".into());
    assert!(
        arm.allowed_pairs().contains(&never),
        "{:?}",
        arm.allowed_pairs()
    );
    // With long links they may meet.
    let clouds = vec![cube(0.5); 4];
    let arm = CollisionModel::with_meshes(&model, &chain, &store(&clouds), &options);
    assert!(!arm.allowed_pairs().contains(&never));
}

#[test]
fn pairs_that_are_named_are_not_compared() {
    let (model, chain) = robot();
    let clouds = vec![cube(0.1); 4];
    let options = CollisionOptions {
        allowed: vec![("d".into(), "a".into())],
        samples: 0,
        looks: 0,
        ..Default::default()
    };
    let arm = CollisionModel::with_meshes(&model, &chain, &store(&clouds), &options);
    assert_eq!(arm.active_pairs(), [("b", "d"), ("a", "c")]);
    let named = AllowedPair::Named("a".into(), "d".into());
    assert!(arm.allowed_pairs().contains(&named));
}
