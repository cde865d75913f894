//! The axes of an arm at its zero configuration, and which closed form they allow.

use nalgebra::{Isometry3, Vector3};

use crate::model::{Chain, Motion};

/// Axes count as parallel below this sine, and as meeting below this distance in shares of the
/// arm's length: descriptions are measured or rounded. The polish on the true chain takes out
/// what that neglects.
const ANGLE: f64 = 2e-3;
const DISTANCE: f64 = 2e-3;

/// An axis of rotation in the base frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::ik) struct Axis {
    /// Unit length.
    pub(super) direction: Vector3<f64>,
    /// A point on it \[m\].
    pub(super) point: Vector3<f64>,
}

/// Axes of all joints and the tip's pose where all joint angles are zero.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ik) struct Arm {
    pub(super) axes: Vec<Axis>,
    pub(super) home: Isometry3<f64>,
    /// The arm's length \[m\].
    pub(super) size: f64,
}

impl Arm {
    /// `None` for arms with sliding joints or followers.
    pub(super) fn of(chain: &Chain) -> Option<Arm> {
        if chain.joints.len() != chain.dof() {
            return None;
        }
        let mut axes = Vec::with_capacity(chain.joints.len());
        let mut home = Isometry3::identity();
        let mut size = chain.tip_offset.translation.vector.norm();
        for (index, joint) in chain.joints.iter().enumerate() {
            let plain = joint.dof == index && joint.multiplier != 0.0;
            if joint.motion == Motion::Translation || !plain {
                return None;
            }
            home *= joint.before;
            if index > 0 {
                size += joint.before.translation.vector.norm();
            }
            axes.push(Axis {
                direction: home.rotation * joint.axis.into_inner(),
                point: home.translation.vector,
            });
        }
        home *= chain.tip_offset;
        home.rotation.renormalize();
        Some(Arm { axes, home, size })
    }

    /// The arm with joint `index` held at `angle` \[rad\]: one joint less.
    pub(super) fn locked(&self, index: usize, angle: f64) -> Option<Arm> {
        let axis = self.axes.get(index)?;
        let rotation = nalgebra::UnitQuaternion::from_axis_angle(
            &nalgebra::Unit::new_unchecked(axis.direction),
            angle,
        );
        let shift = axis.point - rotation * axis.point;
        let held = Isometry3::from_parts(shift.into(), rotation);
        let mut axes = self.axes.clone();
        axes.remove(index);
        for moved in axes.iter_mut().skip(index) {
            moved.direction = held.rotation * moved.direction;
            moved.point = held.rotation * moved.point + held.translation.vector;
        }
        Some(Arm {
            axes,
            home: held * self.home,
            size: self.size,
        })
    }
}

/// A six-joint arm seen from its base, or from its tip where that is simpler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::ik) struct SixR {
    pub(super) axes: [Axis; 6],
    pub(super) home: Isometry3<f64>,
    /// Whether base and tip are exchanged: joints count from the tip and turn the other way.
    pub(super) mirrored: bool,
    /// −1 for joints whose axis was turned round so that parallel axes point the same way.
    pub(super) signs: [f64; 6],
    pub(super) kind: Kind,
}

/// The closed forms for six joints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ik) enum Kind {
    /// The second to fourth axes are parallel, the last two meet.
    ThreeParallel,
    /// The last three axes meet in a point; the second and third are parallel.
    WristAfterParallel,
    /// The last three axes meet in a point; so do the first two.
    WristAfterMeeting,
    /// The last three axes meet in a point; the first and second are parallel.
    WristAfterScara,
}

impl Kind {
    /// In words.
    pub(super) fn words(self, mirrored: bool) -> &'static str {
        match (self, mirrored) {
            (Kind::ThreeParallel, false) => "three parallel axes",
            (Kind::ThreeParallel, true) => "three parallel axes, seen from the tip",
            (Kind::WristAfterParallel, false) => "spherical wrist, parallel second and third axes",
            (Kind::WristAfterMeeting, false) => "spherical wrist, first and second axes that meet",
            (Kind::WristAfterScara, false) => "spherical wrist, parallel first and second axes",
            (_, true) => "spherical shoulder",
        }
    }
}

impl SixR {
    /// The closed form that fits the arm; `None` if none does or it has not six joints.
    pub(super) fn of(arm: &Arm) -> Option<SixR> {
        let axes: [Axis; 6] = arm.axes.as_slice().try_into().ok()?;
        let straight = SixR {
            axes,
            home: arm.home,
            mirrored: false,
            signs: [1.0; 6],
            kind: Kind::ThreeParallel,
        };
        let close = DISTANCE * arm.size.max(1e-3);
        straight
            .fitted(close)
            .or_else(|| straight.mirror().fitted(close))
    }

    /// The same arm from tip to base: inverse pose, axes in the tip's frame.
    fn mirror(self) -> SixR {
        let back = self.home.inverse();
        let mut axes = self.axes.map(|axis| Axis {
            direction: back.rotation * axis.direction,
            point: back.rotation * axis.point + back.translation.vector,
        });
        axes.reverse();
        SixR {
            axes,
            home: back,
            mirrored: !self.mirrored,
            ..self
        }
    }

    fn fitted(mut self, close: f64) -> Option<SixR> {
        let [a1, a2, a3, a4, a5, a6] = self.axes;
        if parallel(&a2, &a3) && parallel(&a3, &a4) && !parallel(&a1, &a2) {
            if let Some(centre) = meeting(&a5, &a6, close) {
                self.axes[4].point = centre;
                self.axes[5].point = centre;
                self.kind = Kind::ThreeParallel;
                self.point_same_way(1, 2);
                self.point_same_way(1, 3);
                return Some(self);
            }
        }
        let wrist = meeting(&a4, &a5, close)
            .zip(meeting(&a5, &a6, close))
            .filter(|(one, other)| (one - other).norm() <= close)
            .map(|(one, other)| 0.5 * (one + other))?;
        for axis in &mut self.axes[3..] {
            axis.point = wrist;
        }
        if parallel(&a2, &a3) && !parallel(&a1, &a2) {
            self.kind = Kind::WristAfterParallel;
            self.point_same_way(1, 2);
        } else if let Some(centre) = meeting(&a1, &a2, close) {
            self.axes[0].point = centre;
            self.axes[1].point = centre;
            self.kind = Kind::WristAfterMeeting;
        } else if parallel(&a1, &a2) {
            self.kind = Kind::WristAfterScara;
            self.point_same_way(0, 1);
        } else {
            return None;
        }
        Some(self)
    }

    /// Turns axis `other` round if it points against axis `one`, and takes its direction.
    fn point_same_way(&mut self, one: usize, other: usize) {
        let direction = self.axes[one].direction;
        if direction.dot(&self.axes[other].direction) < 0.0 {
            self.signs[other] = -1.0;
        }
        self.axes[other].direction = direction;
    }
}

fn parallel(a: &Axis, b: &Axis) -> bool {
    a.direction.cross(&b.direction).norm() <= ANGLE
}

/// The point in the middle of the shortest link between two axes that are not parallel, where
/// that is short.
fn meeting(a: &Axis, b: &Axis, close: f64) -> Option<Vector3<f64>> {
    let normal = a.direction.cross(&b.direction);
    let square = normal.norm_squared();
    if square <= 1e-2 {
        return None;
    }
    let way = b.point - a.point;
    if way.dot(&normal).abs() > close * square.sqrt() {
        return None;
    }
    let on_a = a.point + a.direction * (way.cross(&b.direction).dot(&normal) / square);
    let on_b = b.point + b.direction * (way.cross(&a.direction).dot(&normal) / square);
    Some(0.5 * (on_a + on_b))
}
