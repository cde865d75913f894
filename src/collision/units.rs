//! What moves together: all bodies on one carrier, and the bounds of how far they move.

use parry3d_f64::math::Vector;

use super::arm::CollisionModel;
use super::bodies::Body;
use super::cover::{cover, Ball};
use crate::model::{Chain, Motion};

/// A body of a unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// Index into the model's bodies.
    pub body: usize,
    /// Its balls among the unit's.
    pub balls: std::ops::Range<usize>,
}

/// All bodies on one carrier.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    pub carrier: usize,
    /// Sphere around all: centre in the carrier's frame, radius \[m\].
    pub centre: Vector,
    pub reach: f64,
    pub members: Vec<Member>,
    pub balls: Vec<Ball>,
    /// For each of the chain's moving joints before the carrier, the farthest that any point of
    /// the unit can be from the joint's origin \[m\], but for the travel of sliding joints.
    pub far: Vec<f64>,
}

/// Two units of which some bodies are compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnitPair {
    /// The one nearer to the base.
    pub inner: usize,
    pub outer: usize,
    /// Pairs of members (of the inner, of the outer).
    pub members: Vec<(usize, usize)>,
}

/// The robot as units.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Units {
    pub units: Vec<Unit>,
    pub pairs: Vec<UnitPair>,
}

impl Units {
    pub(super) fn new(model: &CollisionModel) -> Self {
        let mut units: Vec<Unit> = Vec::new();
        for carrier in 0..=model.chain.joints.len() {
            let bodies = model.bodies.iter().enumerate();
            let bodies: Vec<(usize, &Body)> =
                bodies.filter(|(_, body)| body.carrier == carrier).collect();
            if !bodies.is_empty() {
                units.push(unit(carrier, &bodies, &model.chain));
            }
        }
        let place = |body: usize| {
            units.iter().enumerate().find_map(|(unit, u)| {
                let member = u.members.iter().position(|member| member.body == body)?;
                Some((unit, member))
            })
        };
        let mut pairs: Vec<UnitPair> = Vec::new();
        for &(i, j) in &model.pairs {
            let (Some(one), Some(two)) = (place(i), place(j)) else {
                continue;
            };
            let (inner, outer) = if one.0 < two.0 {
                (one, two)
            } else {
                (two, one)
            };
            let members = (inner.1, outer.1);
            let known = pairs
                .iter_mut()
                .find(|pair| pair.inner == inner.0 && pair.outer == outer.0);
            match known {
                Some(pair) => pair.members.push(members),
                None => pairs.push(UnitPair {
                    inner: inner.0,
                    outer: outer.0,
                    members: vec![members],
                }),
            }
        }
        Self { units, pairs }
    }
}

fn unit(carrier: usize, bodies: &[(usize, &Body)], chain: &Chain) -> Unit {
    let mut members = Vec::new();
    let mut balls = Vec::new();
    for &(index, body) in bodies {
        let from = balls.len();
        balls.extend(cover(body));
        members.push(Member {
            body: index,
            balls: from..balls.len(),
        });
    }
    let reach_from = |centre: Vector| {
        bodies.iter().fold(0.0_f64, |most, (_, body)| {
            most.max((body.centre - centre).length() + body.reach)
        })
    };
    let (low, high) = bodies.iter().fold(
        (Vector::INFINITY, Vector::NEG_INFINITY),
        |(low, high), (_, body)| {
            let reach = Vector::splat(body.reach);
            (low.min(body.centre - reach), high.max(body.centre + reach))
        },
    );
    let centre = 0.5 * (low + high);
    let reach = reach_from(centre);
    let mut far = vec![0.0; carrier];
    let mut most = centre.length() + reach;
    for (far, joint) in far.iter_mut().zip(&chain.joints).rev() {
        *far = most;
        most += joint.before.translation.vector.norm();
    }
    Unit {
        carrier,
        centre,
        reach,
        members,
        balls,
        far,
    }
}

/// How a chain's joints move along a straight way in joint space.
#[derive(Debug, Clone, Default)]
pub(super) struct Rates {
    /// Of each moving joint: radians or metres for the whole way.
    pub rates: Vec<f64>,
    /// Farthest that each sliding joint is from its zero; zero for the others \[m\].
    slides: Vec<f64>,
}

impl Rates {
    pub(super) fn set(&mut self, chain: &Chain, from: &[f64], to: &[f64]) {
        self.rates.clear();
        self.slides.clear();
        for joint in &chain.joints {
            let (first, last) = (joint.value(from), joint.value(to));
            self.rates.push(last - first);
            self.slides.push(match joint.motion {
                Motion::Rotation => 0.0,
                Motion::Translation => first.abs().max(last.abs()),
            });
        }
    }

    /// A bound of the second derivative by the fraction of the way of any point of `unit`, seen
    /// from the frame that `inner` joints move \[m\]. With w_i the rate of a turning joint i and r_i
    /// the farthest that the point can be from it, a turn about i of a turn about j contributes at most
    /// |w_i| |w_j| r of the outer one, and a turn about i of a slide by j twice |w_i| |v_j|.
    pub(super) fn bend(&self, chain: &Chain, unit: &Unit, inner: usize) -> f64 {
        // The slides that lie between a joint and the unit.
        let mut slid: f64 = self.slides.iter().take(unit.carrier).sum();
        let mut turned = 0.0;
        let mut bend = 0.0;
        let joints = chain.joints.iter().zip(&self.rates).zip(&self.slides);
        for (number, ((joint, rate), slide)) in joints.take(unit.carrier).enumerate() {
            let rate = rate.abs();
            let far = unit.far.get(number).copied().unwrap_or(0.0) + slid;
            slid -= slide;
            if number < inner {
                continue;
            }
            match joint.motion {
                Motion::Rotation => {
                    bend += far * rate * (2.0 * turned + rate);
                    turned += rate;
                }
                Motion::Translation => bend += 2.0 * turned * rate,
            }
        }
        bend
    }
}

/// The velocity of a rigid body by the fraction of the way: of a point p, `linear + angular × p`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Twist {
    pub linear: Vector,
    pub angular: Vector,
}

impl Twist {
    pub(super) const ZERO: Self = Self {
        linear: Vector::ZERO,
        angular: Vector::ZERO,
    };

    pub(super) fn at(&self, point: Vector) -> Vector {
        self.linear + self.angular.cross(point)
    }

    pub(super) fn minus(&self, other: &Self) -> Self {
        Self {
            linear: self.linear - other.linear,
            angular: self.angular - other.angular,
        }
    }
}
