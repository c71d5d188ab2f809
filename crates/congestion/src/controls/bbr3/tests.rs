//! Numbers worked out from the draft, the cases of its appendix A, and the same across gaps and steps of the round trip.

use super::*;
use crate::CongestionControl;
use crate::ControlParams;
use crate::params::connections::*;
use crate::tests::path::Path;

mod appendix;
mod by_hand;
mod handover;

const MILLISECOND: Duration = Duration::from_millis(1);

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "expected {expected} within {tolerance}, found {found}");
}

fn params() -> ControlParams {
    RFC
}

/// The same before the application has offered anything.
fn idle() -> Path {
    Path::new("bbr3".into())
}

/// A transfer without end over 1250 segments per second, with a round trip of 40 ms: a product of 50.
fn transfer() -> Path {
    let mut path = idle();
    path.sender.offer(None);
    path
}

fn of(path: &Path) -> &Bbr3 {
    let CongestionControl::Bbr3(bbr) = &path.sender.control else { panic!("BBR") };
    bbr
}

/// Runs in steps of a millisecond until `holds`. True if that is after `most` steps at most.
fn until(path: &mut Path, most: u64, holds: impl Fn(&Bbr3) -> bool) -> bool {
    (0..most).any(|_| {
        path.run_ms(1);
        holds(of(path))
    })
}

/// Runs until the flow is in this mode.
fn reach(path: &mut Path, mode: Mode) {
    assert!(until(path, 20_000, |bbr| bbr.mode == mode), "never {mode:?}, but {:?}", of(path).mode);
}
