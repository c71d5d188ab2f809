//! Numbers of the chains that were fitted to drives (PAM 2025, CC0): see docs/models/channel.md.

#![expect(clippy::approx_constant, reason = "rates of a record may be near constants of mathematics")]

mod lte_down;
mod lte_up;
mod nsa_down;
mod nsa_up;

pub use lte_down::LTE_DOWN;
pub use lte_up::LTE_UP;
pub use nsa_down::NSA_DOWN;
pub use nsa_up::NSA_UP;

/// The chain of drives of about one mean rate.
pub struct Level {
    /// Part of the rows.
    pub share: f64,
    /// Of each state, quantiles of the rate at equal distances.
    pub rate_mbit_s: [[f64; 9]; 16],
    /// Probabilities of the next state, a row for each state.
    pub next: [[f64; 16]; 16],
}

/// Slow to fast drives, in parts of equally many rows.
pub type Table = [Level; 4];
