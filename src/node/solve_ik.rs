//! `~/solve_ik`.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use r2r::arm_planner_msgs::srv::SolveIk::{Request, Response};

use super::codes::{Code, Failure};
use super::collisions::Checker;
use super::context::{with_notes, View};
use super::convert::{duration_from, duration_message, joint_state_message, text};
use super::ik_request::{from_parameters, joint_values, posture, tolerance};
use crate::collision::CheckScratch;
use crate::ik::{solver, Goal, IkError, IkRequest, IkSolution, IkSolver, Tolerances};
use crate::model::Chain;

/// Everything that a request asks for, checked.
struct Question {
    chain: std::sync::Arc<Chain>,
    target: crate::kinematics::Pose,
    seed: Vec<f64>,
    posture: crate::ik::Posture,
    tolerances: Tolerances,
    timeout: Duration,
    solver: &'static dyn IkSolver,
    checker: Option<Checker>,
    notes: Vec<String>,
}

/// Answers a request; computes, so call it where that holds nothing up. `cancelled` ends the
/// search early.
pub fn solve_ik(view: &View, request: &Request, cancelled: &(dyn Fn() -> bool + Sync)) -> Response {
    let started = Instant::now();
    let mut response = match question(view, request) {
        Ok(question) => answer(view, request, question, started, cancelled),
        Err(failure) => failed(&failure),
    };
    response.solve_time = duration_message(started.elapsed());
    response
}

/// The response to a request that failed.
pub fn failed(failure: &Failure) -> Response {
    Response {
        code: failure.code.message(),
        message: text(failure.message.as_str()),
        // Nothing came near.
        position_error: f64::INFINITY,
        orientation_error: f64::INFINITY,
        ..Response::default()
    }
}

fn question(view: &View, request: &Request) -> Result<Question, Failure> {
    let mut notes = Vec::new();
    let parameters = &view.parameters.ik;
    let chain = view.robot.chain_to(&request.tip_link)?;
    let name = if request.solver.is_empty() {
        &parameters.solver
    } else {
        &request.solver
    };
    let solver = solver(name)?;
    let tolerances = Tolerances {
        position: tolerance(
            "position_tolerance",
            request.position_tolerance,
            parameters.position_tolerance,
        )?,
        orientation: tolerance(
            "orientation_tolerance",
            request.orientation_tolerance,
            parameters.orientation_tolerance,
        )?,
    };
    let timeout = match duration_from("timeout", &request.timeout)? {
        Duration::ZERO => Duration::from_secs_f64(parameters.timeout.min(1e9)),
        given => given,
    };
    let target = view
        .in_base(
            &request.target.header.frame_id,
            &request.target.pose,
            request.position_only,
            &mut notes,
        )
        .map_err(|failure| failure.of("target"))?;
    let posture = posture(view, &chain, &request.preferred_posture, &mut notes)?;
    let seed = joint_values("the seed", view, &chain, &request.seed, &mut notes)?;
    let checker = if request.avoid_collisions {
        let checker = Checker::new(view, &chain, &view.obstacles, &mut notes);
        Some(checker.map_err(|failure| failure.of("avoid_collisions"))?)
    } else {
        None
    };
    Ok(Question {
        chain,
        target,
        seed,
        posture,
        tolerances,
        timeout,
        solver,
        checker,
        notes,
    })
}

fn answer(
    view: &View,
    request: &Request,
    question: Question,
    started: Instant,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Response {
    let Question {
        chain,
        target,
        seed,
        posture,
        tolerances,
        timeout,
        solver,
        checker,
        mut notes,
    } = question;
    // Budgets by a steady clock: simulated time may stand still.
    let give_up = || cancelled() || started.elapsed() >= timeout;
    // How many were refused, and what the first of them meets.
    let refused: Mutex<(u32, Option<String>)> = Mutex::default();
    let is_free = |q: &[f64]| {
        let Some(checker) = &checker else { return true };
        let Err(what) = checker.obstruction(q, &mut CheckScratch::default()) else {
            return true;
        };
        let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.0 = refused.0.saturating_add(1);
        refused.1.get_or_insert_with(|| what.to_string());
        false
    };
    let wanted = usize::try_from(request.max_solutions.max(1)).unwrap_or(usize::MAX);
    let asked = IkRequest {
        goal: if request.position_only {
            Goal::Position
        } else {
            Goal::Pose
        },
        tolerances,
        posture: Some(posture),
        max_solutions: wanted,
        accept: checker
            .as_ref()
            .map(|_| &is_free as &(dyn Fn(&[f64]) -> bool + Sync)),
        ..from_parameters(
            &view.parameters,
            &view.robot.chain,
            &chain,
            target,
            &give_up,
        )
    };
    let result = if wanted == 1 {
        solver
            .solve(&chain, &asked, &seed)
            .map(|solution| vec![solution])
    } else {
        solver.solve_all(&chain, &asked, &seed)
    };
    match result {
        Ok(solutions) => solved(view, &chain, &solutions, &notes),
        Err(error) => {
            let (count, first) = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
            let met = first.map(|first| {
                format!("{count} set(s) of joint values that reach the target were refused for a collision; in the first, {first}")
            });
            notes.extend(met);
            unsolved(&error, solver, &notes, cancelled())
        }
    }
}

fn solved(view: &View, chain: &Chain, solutions: &[IkSolution], notes: &[String]) -> Response {
    let Some(first) = solutions.first() else {
        return failed(&Failure::new(
            Code::Failure,
            "the solver returned no solution and no error",
        ));
    };
    let found = match solutions.len() {
        1 => "1 solution".to_owned(),
        several => format!("{several} solutions, nearest to the seed first"),
    };
    Response {
        code: Code::Success.message(),
        message: text(with_notes(found, notes)),
        solutions: solutions
            .iter()
            .map(|solution| joint_state_message(chain, &solution.q, &view.stamp))
            .collect(),
        solver: first.solver.to_owned(),
        position_error: first.position_error,
        orientation_error: first.orientation_error,
        iterations: solutions
            .iter()
            .fold(0, |sum, one| sum.saturating_add(one.iterations)),
        ..Response::default()
    }
}

fn unsolved(error: &IkError, solver: &dyn IkSolver, notes: &[String], cancelled: bool) -> Response {
    let failure = if cancelled {
        Failure::new(Code::Preempted, "the node is ending")
    } else {
        Failure::from(error)
    };
    let best = error.best();
    Response {
        solver: best.map_or(solver.name(), |best| best.solver).to_owned(),
        position_error: best.map_or(f64::INFINITY, |best| best.position_error),
        orientation_error: best.map_or(f64::INFINITY, |best| best.orientation_error),
        iterations: best.map_or(0, |best| best.iterations),
        message: text(with_notes(failure.message.clone(), notes)),
        ..failed(&failure)
    }
}

#[cfg(test)]
#[path = "solve_ik_tests.rs"]
mod tests;
