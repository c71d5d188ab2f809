//! A capture that cannot be read, and the place in it.

/// Why a capture cannot be read: where, what was found, and what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("packet {packet}, byte {byte}: {problem}, expected {expected}")]
pub struct Fault {
    /// The packet, counted from 1; 0: before the first one.
    pub packet: u64,
    /// Where its record begins, counted from 0 in the file, of a packed file in its content.
    pub byte: u64,
    /// The fault.
    pub problem: String,
    /// The expected content.
    pub expected: String,
    /// A remedy.
    pub remedy: String,
}

/// A result, or a fault of the capture.
pub type Read<T> = Result<T, Fault>;
