//! Memory of the parts of a run.

/// Memory of one part of a run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The table, or another part of a run.
    pub name: &'static str,
    /// Its rows.
    pub rows: usize,
    /// Bytes that it takes, or will take before long if it grows on.
    pub bytes: u64,
    /// Text to write so that it does not grow.
    pub help: &'static str,
}

/// More rows than a table gets between two looks at it, as a rule.
pub const SLACK: usize = 1 << 16;

/// Memory of a vector of this length and capacity, now or after its next growth, if that is near: within
/// `slack` elements.
pub fn bytes_soon(length: usize, slack: usize, capacity: usize, size: usize) -> u64 {
    let growth = if length + slack > capacity { 2 } else { 1 };
    (growth * capacity * size) as u64
}
