//! Layer 2 of 802.11: medium access by the distributed coordination function ([`dcf`]), and a station that scans,
//! authenticates and associates by management frames, and gets keys.
//!
//! Source: IEEE Std 802.11-2007. The base station's part, the list of associated hosts, is in the world.

mod authenticator;
mod background;
pub(crate) mod dcf;
mod frames;
mod params;
mod reception;
mod security;
mod station;
mod transition;

pub use authenticator::{Authenticator, AuthenticatorAction, AuthenticatorEvent};
pub use background::{BackgroundScan, Strength};
pub use frames::Management;
pub use params::{ManagementSizes, Scan, Wifi};
pub use reception::{Channels, Reception};
pub use security::{Authentication, KeyCaching, Security};
pub use station::{Offer, Station, StationAction, StationEvent};
pub use transition::{OnTransition, Transition};
