//! Which closed form fits a chain.

use nalgebra::Vector3;

use super::super::request::Goal;
use super::geometry::{Arm, Axis, SixR};
use super::planar::Planar;
use crate::model::Chain;

/// Which closed form fits a chain.
pub(in crate::ik) enum Plan {
    Planar(Planar),
    Five(Box<SixR>),
    Six(Box<SixR>),
    Seven {
        arm: Arm,
        swept: usize,
        words: &'static str,
    },
}

impl Plan {
    /// `None` if no closed form fits.
    pub(in crate::ik) fn of(chain: &Chain) -> Option<Plan> {
        if !(2..=7).contains(&chain.dof()) {
            return None;
        }
        let arm = Arm::of(chain)?;
        match arm.axes.len() {
            2 | 3 => Planar::of(&arm).map(Plan::Planar),
            5 => imagined(&arm).map(|six| Plan::Five(Box::new(six))),
            6 => SixR::of(&arm).map(|six| Plan::Six(Box::new(six))),
            7 => [6, 0, 2, 4, 3, 1, 5].into_iter().find_map(|swept| {
                // A value at which no axes happen to be parallel.
                let six = SixR::of(&arm.locked(swept, 0.7)?)?;
                Some(Plan::Seven {
                    arm: arm.clone(),
                    swept,
                    words: six.kind.words(six.mirrored),
                })
            }),
            _ => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Plan::Planar(planar) => format!("planar {}R", planar.joints()),
            Plan::Five(six) => format!("5R: {}", six.kind.words(six.mirrored)),
            Plan::Six(six) => format!("6R: {}", six.kind.words(six.mirrored)),
            Plan::Seven { swept, words, .. } => {
                format!("7R: {words}, joint {} swept", swept + 1)
            }
        }
    }

    /// Whether the branches are all answers there are (else they are samples of continua).
    pub(in crate::ik) fn complete(&self, goal: Goal) -> bool {
        match self {
            Plan::Planar(planar) => {
                goal == Goal::Pose || planar.joints() == 2 && goal == Goal::Position
            }
            Plan::Five(_) | Plan::Six(_) => goal == Goal::Pose,
            Plan::Seven { .. } => false,
        }
    }

    /// Whether the goal can be treated.
    pub(in crate::ik) fn treats(&self, goal: Goal) -> bool {
        match goal {
            Goal::Pose => true,
            Goal::Position => matches!(self, Plan::Planar(_)),
            Goal::Axes(_) => false,
        }
    }
}

/// Which closed form fits the chain, in words; `None` if none does.
pub fn closed_form_of(chain: &Chain) -> Option<String> {
    Plan::of(chain).map(|plan| plan.words())
}

/// The six-joint arm that a five-joint arm would be with one more joint at its end, chosen so
/// that a closed form fits.
fn imagined(arm: &Arm) -> Option<SixR> {
    let [.., fourth, fifth] = arm.axes.as_slice() else {
        return None;
    };
    let side = if fifth.direction.x.abs() < 0.6 {
        Vector3::x()
    } else {
        Vector3::y()
    };
    let choices = [
        (
            fourth.direction.cross(&fifth.direction),
            meeting_point(fourth, fifth),
        ),
        (fifth.direction.cross(&side), fifth.point),
    ];
    choices.into_iter().find_map(|(direction, point)| {
        let direction = direction.try_normalize(1e-3)?;
        let mut six = arm.clone();
        six.axes.push(Axis { direction, point });
        SixR::of(&six)
    })
}

/// The point of `b` that is nearest to `a`, for axes that are not parallel.
fn meeting_point(a: &Axis, b: &Axis) -> Vector3<f64> {
    let normal = a.direction.cross(&b.direction);
    let square = normal.norm_squared();
    if square <= 1e-6 {
        return b.point;
    }
    let way = b.point - a.point;
    b.point + b.direction * (way.cross(&a.direction).dot(&normal) / square)
}
