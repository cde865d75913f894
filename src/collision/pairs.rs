//! Which pairs of links are looked at for self-collision.

/// A pair of links that may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedPair {
    /// Joined by a joint.
    Adjacent(String, String),
    /// Named in the options.
    Named(String, String),
    /// In contact in every configuration that was sampled.
    AlwaysInContact(String, String),
}

/// Pseudo-random numbers in [0, 1), the same every time \[Steele2014\].
pub(super) struct Samples(pub u64);

impl Samples {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
