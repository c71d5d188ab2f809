//! Meaning of an arrival for a receiver.

/// Meaning of the arrival of a segment or datagram for the receiver.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// It had not arrived before.
    pub fresh: bool,
    /// Segments that the application can have now, and could not before.
    pub in_order_segments: u32,
    /// One with a higher number arrived before it.
    pub out_of_order: bool,
}
