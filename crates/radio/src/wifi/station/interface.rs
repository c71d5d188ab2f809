//! The inputs of a station, and its actions.

use super::super::background::Strength;
use super::super::reception::Channels;
use crate::medium::TxOutcome;
use roamlab_engine::Duration;

/// A cell that a station has heard.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The cell, by its number.
    pub cell: u32,
    /// The channel that it is on.
    pub channel: u32,
    /// Time between its beacons.
    pub interval: Duration,
    /// How strong it receives the cell.
    pub strength: Strength,
}

/// Inputs of a station.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum StationEvent {
    /// It is switched on.
    SwitchedOn,
    /// A beacon, or a response to its probe request.
    Cell {
        /// Whose.
        offer: Offer,
        /// It is a beacon.
        beacon: bool,
    },
    /// An attempt to send a frame has ended, or there is no station that could receive one.
    Sent {
        /// It is a management frame; else data.
        management: bool,
        /// The outcome.
        outcome: TxOutcome,
    },
    /// This cell has answered its authentication request.
    Authenticated(u32),
    /// This cell has answered its association request.
    Associated(u32),
    /// Its base station lets its data pass.
    Authorised(u32),
    /// The base station of its cell reports the channels of its neighbours.
    Neighbours {
        /// The cell.
        cell: u32,
        /// The channels.
        channels: Channels,
    },
    /// This cell does not know it.
    Deauthenticated(u32),
    /// This cell has ended its association.
    Disassociated(u32),
    /// The level of this cell is measured.
    Level(u32, Strength),
    /// Its management frames have been sent, and no data wait for the air.
    Quiet,
    /// The base station of this cell holds frames for it, and takes it as away.
    Waiting(u32),
    /// The base station of its cell asks it to go to another one.
    Transition {
        /// The cell.
        cell: u32,
        /// The number of the request.
        request: u32,
        /// The channels of its candidates.
        channels: Channels,
    },
    /// The time that [`Station::next_deadline`] gave has come; whether the channel was busy since the probe request was sent.
    Deadline {
        /// It was.
        busy: bool,
    },
}

/// Actions of a station.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum StationAction {
    /// A phase of its handover is reached.
    Note(&'static str),
    /// It gives up its cell.
    Leave(u32),
    /// It listens on this channel, and has nothing more to send on another.
    Tune(u32),
    /// It sends probe requests on its channel.
    Probe,
    /// It sends an authentication request.
    Authenticate(u32),
    /// It sends an authentication request of fast transition.
    FastAuthenticate(u32),
    /// It sends an association request; whether it had a cell before.
    Associate {
        /// To which cell.
        cell: u32,
        /// It had a cell before.
        again: bool,
    },
    /// It sends a reassociation request of fast transition.
    FastAssociate(u32),
    /// It asks for the neighbours of its cell.
    AskNeighbours(u32),
    /// It is associated: layer 2 is up.
    Enter(u32),
    /// It tells its base station that it is there.
    KeepAlive(u32),
    /// It sends no data from now on, and announces that it is away.
    Doze(u32),
    /// It sends data again, and announces that it is back.
    Wake(u32),
    /// It answers a request to go to another cell.
    Respond {
        /// Of which cell.
        cell: u32,
        /// The number of the request.
        request: u32,
        /// The status code.
        status: u32,
    },
}
