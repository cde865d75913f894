//! Which joint limits stand in the way of a target, to be told to the user.

use super::lm::{self, Budget};
use super::request::{BeyondLimit, IkRequest};
use super::winding;
use crate::model::Chain;

/// The joints that leave their limits on the way from `q` to the target if nothing holds them.
pub(super) fn of(chain: &Chain, request: &IkRequest<'_>, q: &[f64]) -> Vec<BeyondLimit> {
    let mut free = chain.clone();
    for dof in &mut free.dofs {
        dof.lower = f64::NEG_INFINITY;
        dof.upper = f64::INFINITY;
    }
    let mut needed = q.to_vec();
    let converged = lm::prepare(&free, request).is_some_and(|mut descent| {
        descent
            .descend(&mut needed, &Budget::of(request, false))
            .converged
    });
    if !converged {
        return Vec::new();
    }
    winding::to_nearest(chain, q, &mut needed);
    let outside = chain
        .dofs
        .iter()
        .zip(&needed)
        .filter(|(dof, value)| !dof.contains(**value));
    outside
        .map(|(dof, &needed)| BeyondLimit {
            joint: dof.name.clone(),
            needed,
            lower: dof.lower,
            upper: dof.upper,
        })
        .collect()
}
