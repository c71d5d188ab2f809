//! Layer 2 of 802.11: medium access by the distributed coordination function ([`dcf`]), and a station that scans,
//! authenticates and associates by management frames.
//!
//! Source: IEEE Std 802.11-2007. The base station's part, the list of associated hosts, is in the world.

pub(crate) mod dcf;
mod frames;
mod params;
mod reception;
mod station;

pub use frames::Management;
pub use params::{ManagementSizes, Scan, Wifi};
pub use reception::Reception;
pub use station::{Offer, Station, StationAction, StationEvent};
