//! The path of the joints, without time.

/// A sequence of configurations, close enough to each other that what lies between them is
/// given by smooth interpolation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JointPath {
    /// Configurations from start to goal, one value a degree of freedom \[rad, m\].
    pub points: Vec<Vec<f64>>,
    /// Indices into `points` (strictly between first and last) where the direction changes so
    /// sharply that the arm must come to rest.
    pub stops: Vec<usize>,
}
