//! A tree of configurations.

/// Configurations in a flat array, each with the one from which it was reached.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    dof: usize,
    values: Vec<f64>,
    parents: Vec<usize>,
}

impl Tree {
    pub(super) fn new(dof: usize) -> Self {
        Self {
            dof,
            values: Vec::new(),
            parents: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    /// Adds a configuration; a root has no parent. Returns its number.
    pub(super) fn add(&mut self, q: &[f64], parent: Option<usize>) -> usize {
        let number = self.len();
        self.values.extend_from_slice(q);
        self.parents.push(parent.unwrap_or(number));
        number
    }

    pub(super) fn get(&self, number: usize) -> &[f64] {
        let from = number * self.dof;
        self.values.get(from..from + self.dof).unwrap_or(&[])
    }

    /// The configuration nearest to `q`, each joint's difference multiplied with its weight,
    /// and the distance's square.
    pub(super) fn nearest(&self, q: &[f64], weights: &[f64]) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        for (number, node) in self.values.chunks_exact(self.dof.max(1)).enumerate() {
            let square = square_distance(node, q, weights);
            if square < best.1 {
                best = (number, square);
            }
        }
        best
    }

    /// From `number` to its root.
    pub(super) fn branch(&self, number: usize) -> Vec<Vec<f64>> {
        let mut at = number;
        let mut points = vec![self.get(at).to_vec()];
        while let Some(&parent) = self.parents.get(at) {
            // A parent is older than its child.
            if parent >= at {
                break;
            }
            at = parent;
            points.push(self.get(at).to_vec());
        }
        points
    }

    /// The root of `number`.
    pub(super) fn root(&self, number: usize) -> usize {
        let mut at = number;
        while let Some(&parent) = self.parents.get(at) {
            if parent >= at {
                break;
            }
            at = parent;
        }
        at
    }
}

pub(super) fn square_distance(a: &[f64], b: &[f64], weights: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .zip(weights)
        .map(|((a, b), w)| {
            let d = (a - b) * w;
            d * d
        })
        .sum()
}
