//! Building blocks of mobility protocols: the parts that several of them share.
//!
//! Each block is a table of parameters with its check, and the small state machine that goes with it. It has no message
//! and no action: a protocol's role feeds it and acts on its results. The framework is that of \[ripple\] section II;
//! docs/models/blocks.md lists the schemes and their compositions.
//!
//! | block | parameters | state machine |
//! | --- | --- | --- |
//! | movement detection | [`Detection`] | [`Detector`] at a host, [`Beacons`] at a base station |
//! | authentication | [`Authentication`] | [`Gate`] at the node that lets a host in |
//! | registration | two times | [`Registration`] at a host |
//! | trigger | [`Trigger`] | the handovers that it predicts, the base stations that it names |
//! | route repair | [`SoftState`] | [`AccessTree`], [`SoftRoutes`] |
//! | redundancy, release | [`Redundancy`] | |
//! | buffering | [`HandoverBuffer`] | |
//! | delay equaliser | [`Equaliser`] | |

mod authentication;
mod buffer;
mod detection;
mod registration;
mod release;
mod soft_routes;
mod tree;
mod trigger;

pub use authentication::{Authentication, Gate, Knock};
pub use buffer::{BufferPlace, HandoverBuffer};
pub use detection::{Beacons, DetectedBy, Detection, Detector, Found};
pub use registration::Registration;
pub use release::{Equaliser, PRUNE_TIMER, Redundancy};
pub use soft_routes::{Refreshed, SoftRoutes, SoftState};
pub use tree::{AccessTree, check_tree, gateway};
pub use trigger::{CarSets, Trigger, TriggerBy};

use crate::Refusal;
use roamlab_engine::Duration;

/// Refuses a parameter of a shared block that a protocol does not use, unless it has its default; `instead` is what
/// to write.
///
/// # Errors
/// The field, and what to write instead.
pub(crate) fn check_unused<T: PartialEq>(
    field: &str,
    (value, default): (&T, &T),
    instead: &str,
) -> Result<(), Refusal> {
    if value == default {
        return Ok(());
    }
    Err(Refusal::at(field, "this protocol does not use it").help(instead))
}

/// Refuses times of a table that are zero.
pub(crate) fn check_times(
    table: &str,
    times: impl IntoIterator<Item = (&'static str, Duration)>,
) -> Result<(), Refusal> {
    match times.into_iter().find(|(_, time)| *time == Duration::ZERO) {
        None => Ok(()),
        Some((part, _)) => {
            let field = if table.is_empty() { part.to_owned() } else { format!("{table}.{part}") };
            Err(Refusal::at(field, "this time cannot be zero").help("write for example \"1 s\""))
        }
    }
}
