//! Why there is no plan, in the few words that have room in a picture.

use crate::collision::Obstacle as Met;
use crate::motion::PlanError;
use crate::planning::{BreakCause, PathError};
use crate::roadmap::{End, RouteError};

/// The reason in a few words, and the obstacles that it is about.
pub(super) fn told(error: &PlanError) -> (String, Vec<String>) {
    let met = |link: &str, with: &Met| match with {
        Met::Obstacle(id) => (format!("{link} meets {id}"), vec![id.clone()]),
        Met::Link(other) => (format!("{link} meets {other}"), Vec::new()),
    };
    let alone = |words: &str| (words.to_owned(), Vec::new());
    let path = match error {
        PlanError::Path(path) => path,
        PlanError::Collides { time, contact } => {
            let (words, culprits) = met(&contact.link, &contact.with);
            return (format!("after {time:.2} s: {words}"), culprits);
        }
        PlanError::TooClose { obstacle, .. } => {
            return (format!("too close to {obstacle}"), vec![obstacle.clone()])
        }
        PlanError::Late { fault } => return told(fault),
        PlanError::Timing(_) | PlanError::TooFewPoints { .. } => return alone(""),
    };
    match path {
        PathError::PathBroken {
            fraction, cause, ..
        }
        | PathError::OffRoute {
            fraction, cause, ..
        } => {
            let (words, culprits) = match cause {
                BreakCause::Collision { link, with } => met(link, with),
                BreakCause::JointJump { joint, .. } => alone(&format!("{joint} would jump")),
                BreakCause::JointLimit { joint, .. } => alone(&format!("limit of {joint}")),
                BreakCause::Singular { .. } => alone("singular"),
                BreakCause::Deviation { .. } => alone("leaves its path"),
                BreakCause::Ik(_) => alone("no joint values"),
                BreakCause::GaveUp => alone("time was up"),
            };
            (format!("{:.1} %: {words}", 100.0 * fraction), culprits)
        }
        PathError::Route { source, .. } => route_told(source),
        PathError::RouteOver { source, over, .. } => {
            let (words, mut culprits) = route_told(source);
            culprits.extend(route_told(over).1);
            (words, culprits)
        }
        PathError::Goal { source, .. } if source.is_unreachable() => alone("out of reach"),
        PathError::Goal { .. } => alone("no joint values"),
        PathError::GoalCollides { link, with, .. } | PathError::StartCollides { link, with } => {
            met(link, with)
        }
        PathError::StartOutsideLimits { joint, .. } => alone(&format!("{joint} beyond its limits")),
        _ => alone(""),
    }
}

fn route_told(error: &RouteError) -> (String, Vec<String>) {
    match error {
        RouteError::InObstacle { obstacles, .. } => (
            format!("inside {}", obstacles.join(", ")),
            obstacles.clone(),
        ),
        RouteError::TooClose { obstacles, .. } => {
            let nearest = obstacles.first().map_or("", String::as_str);
            (format!("too close to {nearest}"), obstacles.clone())
        }
        RouteError::NoPath { by, .. } => ("shut in".to_owned(), by.clone()),
        RouteError::OutsideBoundary { .. } | RouteError::InvalidPoint { .. } => {
            ("not a free place".to_owned(), Vec::new())
        }
    }
}

/// Which end of the way is to blame.
pub(super) fn end_of(error: &RouteError) -> Option<End> {
    match error {
        RouteError::InvalidPoint { end, .. }
        | RouteError::InObstacle { end, .. }
        | RouteError::TooClose { end, .. }
        | RouteError::OutsideBoundary { end, .. } => Some(*end),
        RouteError::NoPath { enclosed, .. } => Some(*enclosed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::Contact;

    fn collision() -> PlanError {
        PlanError::Collides {
            time: 1.25,
            contact: Contact {
                link: "hand".to_owned(),
                with: Met::Obstacle("crate".to_owned()),
            },
        }
    }

    #[test]
    fn reasons_name_what_is_in_the_way() {
        let (words, culprits) = told(&collision());
        assert_eq!(words, "after 1.25 s: hand meets crate");
        assert_eq!(culprits, ["crate"]);
        let late = PlanError::Late {
            fault: Box::new(collision()),
        };
        assert_eq!(told(&late).1, ["crate"]);
        let broken = PathError::PathBroken {
            goal: 1,
            fraction: 0.381,
            cause: BreakCause::Collision {
                link: "hand".to_owned(),
                with: Met::Link("base".to_owned()),
            },
            partial: Box::default(),
        };
        let (words, culprits) = told(&broken.into());
        assert_eq!(
            (words.as_str(), culprits.len()),
            ("38.1 %: hand meets base", 0)
        );
        let over = PathError::RouteOver {
            goal: 1,
            source: RouteError::NoPath {
                enclosed: End::Goal,
                by: vec!["wall".to_owned()],
            },
            height: 0.5,
            over: Box::new(RouteError::InObstacle {
                end: End::Start,
                obstacles: vec!["lid".to_owned()],
                depth: 0.1,
            }),
        };
        let (words, culprits) = told(&over.into());
        assert_eq!(words, "shut in");
        assert_eq!(culprits, ["wall", "lid"]);
    }
}
