//! Solvers by name.

use super::{
    ClosedForm, CyclicCoordinateDescent, DampedSvd, Fabrik, IkSolver, JacobianTranspose,
    LevenbergMarquardt, Portfolio,
};

/// A solver's name that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no solver \"{name}\"; choose one of: {}", choices.join(", "))]
pub struct UnknownSolver {
    /// The name asked for.
    pub name: String,
    /// The names that there are.
    pub choices: Vec<&'static str>,
}

static SOLVERS: [&dyn IkSolver; 7] = [
    &Portfolio,
    &ClosedForm,
    &DampedSvd,
    &LevenbergMarquardt,
    &JacobianTranspose,
    &CyclicCoordinateDescent,
    &Fabrik,
];

/// The names that [`solver`] knows, the default first.
pub fn solver_names() -> Vec<&'static str> {
    SOLVERS.iter().map(|solver| solver.name()).collect()
}

/// The solver called `name`; the [`Portfolio`] for an empty name.
///
/// # Errors
/// [`UnknownSolver`], which lists the choices.
pub fn solver(name: &str) -> Result<&'static dyn IkSolver, UnknownSolver> {
    if name.is_empty() {
        return Ok(&Portfolio);
    }
    SOLVERS
        .iter()
        .copied()
        .find(|solver| solver.name() == name)
        .ok_or_else(|| UnknownSolver {
            name: name.to_owned(),
            choices: solver_names(),
        })
}
