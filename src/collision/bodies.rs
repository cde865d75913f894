//! Shapes of a robot's links, attached to the moving frames of a chain.

use std::collections::BTreeMap;

use nalgebra::{Isometry3, Point3};
use parry3d_f64::math::Vector;
use parry3d_f64::transformation::try_convex_hull;

use super::frames::Steps;
use super::hull::Hull;
use super::mesh::{MeshError, MeshParts};
use super::shape::{pose, Core};
use crate::kinematics::Pose;
use crate::model::{Chain, Geometry, JointKind, Link, LinkShape, RobotModel};

/// Gives, for a mesh's file name as written in the URDF, the points of its convex parts (in file
/// units, not yet scaled); `None` if the mesh cannot be had. The core opens no files.
pub type MeshSource<'a> = &'a dyn Fn(&str) -> Option<Vec<Vec<[f64; 3]>>>;

/// As [`MeshSource`], with a reason.
pub(super) type Meshes<'a> = &'a dyn Fn(&str) -> Result<MeshParts, MeshError>;

/// What to check, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct CollisionOptions {
    /// Pose in the chain's base frame of the frame in which obstacles are given and stand upright: for a
    /// planning plane that leans. The ground lies level in the base frame all the same.
    pub frame: Pose,
    /// Distance that links keep from obstacles \[m\], zero or more.
    pub clearance: f64,
    /// Distance that links keep from each other \[m\], zero or more.
    pub self_clearance: f64,
    /// Radius of what stands in for a mesh that cannot be had \[m\].
    pub fallback_radius: f64,
    /// Pairs of links that may touch, as in an SRDF's `disable_collisions`.
    pub allowed: Vec<(String, String)>,
    /// Values of joints that are not in the chain (grippers, other arms), by name \[rad, m\]; others
    /// are at zero or at the limit nearest to it.
    pub other_joints: BTreeMap<String, f64>,
    /// Number of configurations in which pairs are looked at to find those always in contact.
    pub samples: usize,
    /// Number of parts of the joints' ranges that are looked at, at most, to prove that a pair never
    /// meets inside the limits, and need not be looked at later.
    pub looks: usize,
}

impl Default for CollisionOptions {
    fn default() -> Self {
        Self {
            frame: Pose::identity(),
            clearance: 0.0,
            self_clearance: 0.0,
            fallback_radius: 0.05,
            allowed: Vec::new(),
            other_joints: BTreeMap::new(),
            samples: 256,
            looks: 1000,
        }
    }
}

/// What is not checked as the description says.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CollisionWarning {
    /// A mesh that could not be had; a capsule along the link stands in for it.
    #[error("the mesh '{filename}' of link '{link}' cannot be used ({reason}): a capsule of radius {radius} m along the link stands in for it")]
    MeshMissing {
        /// The link.
        link: String,
        /// As written in the URDF.
        filename: String,
        /// The capsule's radius \[m\].
        radius: f64,
        /// Why, and where it was looked for.
        reason: String,
    },
    /// A link without collision geometry, whose visual geometry is used.
    #[error("link '{link}' has no collision geometry: its visual geometry is used")]
    VisualUsed {
        /// The link.
        link: String,
    },
    /// A shape whose size is not positive and finite; the same stand-in as for meshes.
    #[error("a shape of link '{link}' has no usable size: a capsule of radius {radius} m along the link stands in for it")]
    BadShape {
        /// The link.
        link: String,
        /// The capsule's radius \[m\].
        radius: f64,
    },
    /// A follower outside the chain of a joint in the chain is kept where it is for the middle of
    /// the chain joint's range.
    #[error("joint '{joint}' follows '{driver}' but is not part of the chain: it is taken to stand still")]
    FollowerHeld {
        /// The follower.
        joint: String,
        /// The joint it follows.
        driver: String,
    },
    /// A name in a list of allowed pairs or joint values that the robot has not.
    #[error("'{name}' is named in the collision options, but the robot has no such link or joint")]
    UnknownName {
        /// The name.
        name: String,
    },
}

/// A convex shape of a link.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Body {
    /// Index into the robot's links.
    pub link: usize,
    /// How many of the chain's moving joints lie before it; 0 does not move.
    pub carrier: usize,
    /// In the carrier's frame.
    pub core: Core,
    /// Thickness around the core \[m\].
    pub radius: f64,
    /// Centre of a sphere around the body, in the carrier's frame.
    pub centre: Vector,
    /// Radius of that sphere \[m\].
    pub reach: f64,
    /// The line of a capsule around the body, in the carrier's frame.
    pub ends: [Vector; 2],
    /// Radius of that capsule \[m\].
    pub thickness: f64,
}

/// Added to what contains a body \[m\]: rounding must not leave a corner outside.
const ROUNDING: f64 = 1e-9;

/// Where each link hangs: the carrier and the constant transform from its frame.
fn carriers(
    model: &RobotModel,
    chain: &Chain,
    options: &CollisionOptions,
    warnings: &mut Vec<CollisionWarning>,
) -> Vec<(usize, Isometry3<f64>)> {
    // Everything relative to the root for links that hang on no chain joint; the base is one.
    let base = model.link_index(&chain.base).unwrap_or(model.root);
    let place = |link: usize, warnings: &mut Vec<CollisionWarning>| {
        let mut offset = Isometry3::identity();
        let mut at = link;
        // A checked model is a tree, but a bound costs nothing.
        for _ in 0..=model.joints.len() {
            let Some(joint) = model
                .links
                .get(at)
                .and_then(|link| link.parent_joint)
                .and_then(|joint| model.joints.get(joint))
            else {
                break;
            };
            if let Some(number) = chain.joints.iter().position(|j| j.name == joint.name) {
                return (number + 1, offset);
            }
            let value = constant(model, chain, joint, options, warnings);
            let motion = match joint.kind {
                JointKind::Revolute | JointKind::Continuous => Isometry3::from_parts(
                    nalgebra::Translation3::identity(),
                    nalgebra::UnitQuaternion::from_axis_angle(&joint.axis, value),
                ),
                JointKind::Prismatic => Isometry3::translation(
                    joint.axis.x * value,
                    joint.axis.y * value,
                    joint.axis.z * value,
                ),
                JointKind::Fixed | JointKind::Floating | JointKind::Planar => Isometry3::identity(),
            };
            offset = joint.origin * motion * offset;
            at = joint.parent;
        }
        (0, offset)
    };
    let (_, base_offset) = place(base, warnings);
    let to_base = base_offset.inverse();
    (0..model.links.len())
        .map(|link| {
            let (carrier, offset) = place(link, warnings);
            if carrier == 0 {
                (0, to_base * offset)
            } else {
                (carrier, offset)
            }
        })
        .collect()
}

/// The value of a joint that the chain does not move.
fn constant(
    model: &RobotModel,
    chain: &Chain,
    joint: &crate::model::Joint,
    options: &CollisionOptions,
    warnings: &mut Vec<CollisionWarning>,
) -> f64 {
    let own = |joint: &crate::model::Joint| {
        options
            .other_joints
            .get(&joint.name)
            .copied()
            .filter(|value| value.is_finite())
            .unwrap_or_else(|| 0.0_f64.max(joint.limits.lower).min(joint.limits.upper))
    };
    let Some(mimic) = joint.mimic else {
        return own(joint);
    };
    let Some(driver) = model.joints.get(mimic.driver) else {
        return own(joint);
    };
    let value = match chain
        .dof_index(&driver.name)
        .and_then(|i| chain.dofs.get(i))
    {
        Some(dof) => {
            let warning = CollisionWarning::FollowerHeld {
                joint: joint.name.clone(),
                driver: driver.name.clone(),
            };
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
            dof.middle()
        }
        None => own(driver),
    };
    mimic.multiplier * value + mimic.offset
}

/// All bodies of the robot.
pub(super) fn bodies(
    model: &RobotModel,
    chain: &Chain,
    steps: &Steps,
    meshes: Meshes,
    options: &CollisionOptions,
    warnings: &mut Vec<CollisionWarning>,
) -> Vec<Body> {
    let carriers = carriers(model, chain, options, warnings);
    let mut bodies = Vec::new();
    for (index, (link, &(carrier, ref offset))) in model.links.iter().zip(&carriers).enumerate() {
        let shapes = if link.collision.is_empty() && !link.visual.is_empty() {
            warnings.push(CollisionWarning::VisualUsed {
                link: link.name.clone(),
            });
            &link.visual
        } else {
            &link.collision
        };
        for shape in shapes {
            for (core, frame, radius) in cores(model, link, shape, meshes, options, warnings) {
                let frame = steps.turned(carrier, &(offset * frame));
                bodies.push(body(index, carrier, &frame, core, radius));
            }
        }
    }
    bodies
}

fn body(link: usize, carrier: usize, frame: &Isometry3<f64>, core: Solid, radius: f64) -> Body {
    let frame = pose(frame);
    let core = match core {
        Solid::Points(points) => {
            let moved = points.iter().map(|&p| frame.transform_point(p)).collect();
            Core::Hull(Hull::new(moved))
        }
        Solid::Cylinder { radius, half } => Core::Cylinder {
            frame,
            radius,
            half,
        },
    };
    let (low, high) = core.aabb();
    let centre = 0.5 * low + 0.5 * high;
    let (ends, thickness) = core.capsule();
    Body {
        link,
        carrier,
        centre,
        reach: core.reach(centre) + radius + ROUNDING,
        core,
        radius,
        ends,
        thickness: thickness + radius + ROUNDING,
    }
}

/// A core before it is placed.
enum Solid {
    /// The hull of points.
    Points(Vec<Vector>),
    /// Along z, centred.
    Cylinder { radius: f64, half: f64 },
}

type Placed = (Solid, Isometry3<f64>, f64);

/// The convex cores of a shape, each with its frame in the link and its radius.
fn cores(
    model: &RobotModel,
    link: &Link,
    shape: &LinkShape,
    meshes: Meshes,
    options: &CollisionOptions,
    warnings: &mut Vec<CollisionWarning>,
) -> Vec<Placed> {
    let frame = shape.origin;
    let usable = |values: &[f64]| values.iter().all(|v| v.is_finite() && *v >= 0.0);
    let radius = options.fallback_radius;
    let found: Option<Vec<Placed>> = match &shape.geometry {
        Geometry::Box { size } => usable(size.as_slice()).then(|| {
            let h = size * 0.5;
            let corners = (0..8)
                .map(|k| {
                    let side = |bit: u32, h: f64| if k >> bit & 1 == 0 { -h } else { h };
                    Vector::new(side(0, h.x), side(1, h.y), side(2, h.z))
                })
                .collect();
            vec![(Solid::Points(corners), frame, 0.0)]
        }),
        Geometry::Cylinder { radius, length } => usable(&[*radius, *length]).then(|| {
            let core = Solid::Cylinder {
                radius: *radius,
                half: 0.5 * length,
            };
            vec![(core, frame, 0.0)]
        }),
        Geometry::Sphere { radius } => {
            usable(&[*radius]).then(|| vec![(Solid::Points(vec![Vector::ZERO]), frame, *radius)])
        }
        Geometry::Capsule { radius, length } => usable(&[*radius, *length]).then(|| {
            let end = Vector::new(0.0, 0.0, 0.5 * length);
            vec![(Solid::Points(vec![-end, end]), frame, *radius)]
        }),
        Geometry::Mesh { filename, scale } => {
            let hulls = meshes(filename).and_then(|parts| {
                let scaled =
                    |p: &[f64; 3]| Vector::new(p[0] * scale.x, p[1] * scale.y, p[2] * scale.z);
                let parts: Vec<Vec<Vector>> = parts
                    .iter()
                    .map(|part| part.iter().map(scaled).collect())
                    .collect();
                if parts.iter().all(Vec::is_empty) {
                    return Err(MeshError::Empty);
                }
                let finite = parts.iter().flatten().all(|p| p.is_finite());
                finite.then_some(parts).ok_or(MeshError::NotFinite)
            });
            let hulls = match hulls {
                Ok(hulls) => hulls,
                Err(reason) => {
                    warnings.push(CollisionWarning::MeshMissing {
                        link: link.name.clone(),
                        filename: filename.clone(),
                        radius,
                        reason: reason.to_string(),
                    });
                    return vec![stand_in(model, link, radius)];
                }
            };
            return hulls
                .into_iter()
                .filter(|points| !points.is_empty())
                .map(|points| (Solid::Points(hull(points)), frame, 0.0))
                .collect();
        }
    };
    found.unwrap_or_else(|| {
        warnings.push(CollisionWarning::BadShape {
            link: link.name.clone(),
            radius,
        });
        vec![stand_in(model, link, radius)]
    })
}

/// The corners of the hull; all points where it cannot be built (flat meshes), which is the same
/// set, only slower.
fn hull(mut points: Vec<Vector>) -> Vec<Vector> {
    // A mesh names each corner once a face.
    points.sort_by(|a, b| {
        let by = |k: fn(&Vector) -> f64| k(a).total_cmp(&k(b));
        by(|p| p.x).then(by(|p| p.y)).then(by(|p| p.z))
    });
    points.dedup();
    match try_convex_hull(&points) {
        Ok((corners, _)) if corners.len() >= 4 => {
            // Trust, but verify: a corner that went missing would be a hole.
            let far = |among: &[Vector], direction: Vector| {
                let along = among.iter().map(|p| p.dot(direction));
                along.fold(f64::NEG_INFINITY, f64::max)
            };
            let covers = DIRECTIONS.iter().all(|&direction| {
                let direction = Vector::from_array(direction);
                far(&corners, direction) >= far(&points, direction) - 1e-9
            });
            if covers {
                corners
            } else {
                points
            }
        }
        _ => points,
    }
}

/// Directions in which a hull is compared with its points.
const DIRECTIONS: [[f64; 3]; 14] = [
    [1.0, 0.0, 0.0],
    [-1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, -1.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, -1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [-1.0, 1.0, -1.0],
    [1.0, -1.0, -1.0],
    [-1.0, -1.0, -1.0],
];

/// The hull of the link's origin and its child joints' origins, with a radius.
fn stand_in(model: &RobotModel, link: &Link, radius: f64) -> Placed {
    let mut points = vec![Vector::ZERO];
    for joint in link
        .child_joints
        .iter()
        .filter_map(|&joint| model.joints.get(joint))
    {
        let origin = joint.origin * Point3::origin();
        points.push(Vector::new(origin.x, origin.y, origin.z));
    }
    (Solid::Points(points), Isometry3::identity(), radius)
}
