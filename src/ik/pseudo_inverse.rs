//! The singular value decomposition of a task Jacobian, and what is read off it.

use nalgebra::{DVector, Dyn, Vector6, SVD, U6};

use crate::kinematics::Jacobian;

/// Singular values below this share of the largest one count as zero.
const RELATIVE_THRESHOLD: f64 = 1e-7;

/// A decomposition of a 6×n Jacobian.
pub(super) struct Decomposition {
    svd: SVD<f64, U6, Dyn>,
    cutoff: f64,
}

impl Decomposition {
    /// `None` if the matrix is not finite or the iteration does not end.
    pub(super) fn of(matrix: &Jacobian) -> Option<Self> {
        if matrix.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let svd = matrix.clone().try_svd(true, true, f64::EPSILON, 500)?;
        let largest = svd.singular_values.iter().fold(0.0_f64, |m, s| m.max(*s));
        Some(Decomposition {
            svd,
            cutoff: RELATIVE_THRESHOLD * largest,
        })
    }

    /// Indices and values of the singular values that count.
    fn kept(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.svd
            .singular_values
            .iter()
            .copied()
            .enumerate()
            .filter(|&(_, value)| value > self.cutoff)
    }

    /// The smallest singular value that is not dropped; zero if all are.
    pub(super) fn smallest(&self) -> f64 {
        let smallest = self
            .kept()
            .fold(f64::INFINITY, |least, (_, s)| least.min(s));
        if smallest.is_finite() {
            smallest
        } else {
            0.0
        }
    }

    /// The damped least-squares solution Σ v σ/(σ² + d) uᵀ error, dropped values left out.
    pub(super) fn damped(&self, error: &Vector6<f64>, damping: f64) -> DVector<f64> {
        let (Some(u), Some(v_t)) = (&self.svd.u, &self.svd.v_t) else {
            return DVector::zeros(0);
        };
        let mut solution = DVector::zeros(v_t.ncols());
        for (index, value) in self.kept() {
            let part = u.column(index).dot(error) * value / (value * value + damping);
            solution += v_t.row(index).transpose() * part;
        }
        solution
    }

    /// (I − J⁺J) `direction`: its part that moves the tip in no task direction.
    pub(super) fn project(&self, direction: &DVector<f64>) -> DVector<f64> {
        let mut projected = direction.clone();
        if let Some(v_t) = &self.svd.v_t {
            for (index, _) in self.kept() {
                let row = v_t.row(index).transpose();
                let part = row.dot(direction);
                projected -= row * part;
            }
        }
        projected
    }
}
