//! A tree of configurations.

/// Configurations in a flat array, each with the one from which it was reached.
#[derive(Debug, Clone)]
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

    /// The configuration nearest to `q`, each joint's difference multiplied with its weight. All are
    /// compared: there are hundreds at most, and an edge costs more than a thousand comparisons.
    pub(super) fn nearest(&self, q: &[f64], weights: &[f64]) -> usize {
        let mut best = (0, f64::INFINITY);
        for (number, node) in self.values.chunks_exact(self.dof.max(1)).enumerate() {
            let square = square_distance(node, q, weights);
            if square < best.1 {
                best = (number, square);
            }
        }
        best.0
    }

    /// The numbers from `number` to its root.
    fn line(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        let parent = |&at: &usize| {
            let parent = self.parents.get(at).copied()?;
            // A parent is older than its child.
            (parent < at).then_some(parent)
        };
        std::iter::successors(Some(number), parent)
    }

    /// The configurations from `number` to its root.
    pub(super) fn branch(&self, number: usize) -> Vec<Vec<f64>> {
        self.line(number).map(|at| self.get(at).to_vec()).collect()
    }

    /// The root of `number`.
    pub(super) fn root(&self, number: usize) -> usize {
        self.line(number).last().unwrap_or(number)
    }
}

/// The square of the distance of two configurations, each difference multiplied with its weight.
pub(super) fn square_distance(a: &[f64], b: &[f64], weights: &[f64]) -> f64 {
    let joints = a.iter().zip(b).zip(weights);
    joints
        .map(|((a, b), w)| {
            let d = (a - b) * w;
            d * d
        })
        .sum()
}
