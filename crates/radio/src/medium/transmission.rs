//! The interface of a medium: a station's frame, the outcome of its transmission, and what a medium is asked.

use roamlab_engine::{Bytes, Duration, Rate, Rng, Time};

/// The frame at the head of a station's queue.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The station: a number that its owner chooses.
    pub station: u32,
    /// Its size on the wire, without what the medium adds.
    pub size: Bytes,
    /// The rate that the station sends at.
    pub rate: Rate,
    /// It is for all who hear it, and no station acknowledges it.
    pub broadcast: bool,
    /// It is a management frame: `size` is all of it, and it is sent at the rate that the medium has for such.
    pub management: bool,
}

/// A station's place in its cell.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// The base station's downlink.
    BaseStation,
    /// A host's uplink.
    Host,
}

/// True if the frame of this station, which it began to send at this time, gets across to its receiver.
pub type Reached<'a> = &'a dyn Fn(u32, Time) -> bool;

/// A report of a medium about a station's frame. A frame that is acknowledged has two: it is received, and later its
/// station is free.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// Whose frame it was.
    pub station: u32,
    /// When its transmission began: the last one, if there were several.
    pub started: Time,
    /// Its outcome; `None`: that is known already.
    pub outcome: Option<TxOutcome>,
    /// How long the medium was taken by it, as far as this has not been reported.
    pub air: Duration,
    /// The station may offer its next frame.
    pub free: bool,
}

/// The outcome of a transmission.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TxOutcome {
    /// The frame was received, and acknowledged if it was for one receiver.
    Received,
    /// It was a beacon, which all stations that listen have received. Only on a medium that
    /// [reports](Medium::report).
    Beacon,
    /// It was not acknowledged, and its station sends it again. Only on a medium that [reports](Medium::report).
    Retried,
    /// It was sent once, and not received.
    NotReceived,
    /// It was sent as often as its station may, and never acknowledged.
    RetryLimit,
    /// Its station has cancelled it before that: it was not wanted any more, or its receiver is known to be gone.
    Cancelled,
}

impl TxOutcome {
    /// True if the frame is lost.
    pub const fn is_loss(self) -> bool {
        matches!(self, TxOutcome::NotReceived | TxOutcome::RetryLimit | TxOutcome::Cancelled)
    }
}

/// A medium that stations share.
pub trait Medium {
    /// A station that may offer frames from now on. `rng` is its own stream.
    fn join(&mut self, station: u32, role: Role, rng: Rng);

    /// A station wants to send a frame; it has none here yet.
    fn offer(&mut self, frame: Frame, now: Time);

    /// Takes back a frame that is not being sent; whether there was one. One that is being sent is not sent again.
    fn withdraw(&mut self, station: u32, now: Time) -> bool;

    /// When [`on_deadline`](Self::on_deadline) is to be called; `None`: not before the next frame.
    fn next_deadline(&self) -> Option<Time>;

    /// The deadline has come: what has been decided, if anything. To be asked until there is nothing.
    fn on_deadline(&mut self, now: Time, reached: Reached<'_>) -> Option<Transmission>;

    /// Beacons that were sent and attempts that were not acknowledged are reported from now on.
    fn report(&mut self) {}

    /// True if anything was on the air since then.
    fn was_busy(&self, _since: Time) -> bool {
        false
    }
}
