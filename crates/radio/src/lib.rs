//! Layer 2: which stations receive from each other, and when.
//!
//! [`RadioSpec`] selects how a host changes cells. With a hard handover it is in at most one cell, with a soft one in
//! two or more for a while. With 802.11 it detects its cells itself ([`wifi`]). The plan of visits is data. With a
//! [`MeasurementSpec`] hosts measure their cells ([`measurement`], [`signal`]) and their agents decide where they go.

pub mod bearer;
pub mod channel;
mod handover;
mod loss;
pub mod measurement;
mod medium;
mod outage;
pub mod plan;
mod recorded;
pub mod scheduler;
mod series;
pub mod signal;
mod spec;
mod stepped;
mod visit;
#[cfg(test)]
mod walks;
pub mod wifi;

pub use channel::measured::MeasuredChannel;
pub use channel::{CHANNELS, ChannelSpec};
pub use handover::{
    BadVisit, Duplicates, HardHandover, InFlightAtBreak, Motion, RADIOS, RadioSpec, SoftHandover,
    UplinkChoice,
};
pub use loss::{CorrelatedLoss, GilbertElliott, LOSS_MODELS, LossProcess, LossSpec, RecordedLoss};
pub use measurement::{Condition, Event, Finding, Meter, Reference, Test};
pub use medium::{
    AnyMedium, Dedicated, Frame, MEDIA, Medium, MediumSpec, Reached, Role, Transmission, TxOutcome,
};
pub use outage::{OutagePackets, OutageSpec, Outages};
pub use plan::{Cells, Itinerary, PLANS, PlanSpec};
pub use recorded::{Opportunities, RecordedTransmitter};
pub use scheduler::{BearerShare, CellScheduler, SCHEDULERS, SchedulerSpec};
pub use series::{AtEnd, Delays, Losses, Order, Player, Quantity, Rates, Series};
pub use signal::{PathLoss, Positions, Schedule, Signal, Trajectory, Transmitter, distance};
pub use spec::{MeasurementSpec, SignalSpec};
pub use stepped::{FileTransmitter, SteppedTransmitter};
pub use visit::Visit;
pub use wifi::{
    Authentication, Authenticator, AuthenticatorAction, AuthenticatorEvent, BackgroundScan, Channels,
    KeyCaching, Management, ManagementSizes, Offer, OnTransition, Reception, Scan, Security, Station,
    StationAction, StationEvent, Strength, Transition, Wifi,
};
