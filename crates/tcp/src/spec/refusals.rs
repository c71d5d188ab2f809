//! Values and combinations of parameters that are refused.

use crate::params::*;
use roamlab_congestion::{CongestionControlSpec, SpecError};
use roamlab_engine::{Duration, Packets};

/// Most segments of a window: the largest window has 2^30 bytes (RFC 7323 §2.3), a segment at least one.
const LARGEST_WINDOW: u32 = 1 << 30;

/// Most duplicate ACKs to wait for: more than a window of 65535 bytes can cause.
const LARGEST_THRESHOLD: u32 = 65_535;

/// Longest tick of a clock: BSD's slow timer ticked twice a second.
const LONGEST_TICK: Duration = Duration::from_secs(3600);

/// Refuses parameters that cannot be right.
pub(super) fn check(params: &TcpParams) -> Result<(), SpecError> {
    check_recovery(params)?;
    check_windows(params)?;
    check_sizes(params)?;
    check_detection(params)?;
    params.check_dialect()?;
    check_sack_blocks(params)?;
    params.congestion_control.check()?;
    check_ecn(params)?;
    check_times(params)
}

/// Recoveries that do not serve the congestion control.
fn check_recovery(params: &TcpParams) -> Result<(), SpecError> {
    let (name, usual) = match params.congestion_control {
        CongestionControlSpec::Bbr(_) => ("bbr", "`recovery = \"rfc6675\"` or `recovery = \"rack\"`"),
        CongestionControlSpec::Bbr3(_) => ("bbr3", "`recovery = \"rack\"`"),
        CongestionControlSpec::Vegas(_) => return Ok(()),
        _ if params.recovery == RecoveryKind::Vegas => {
            // Brakmo & Peterson 1995 §3.1: a loss takes a quarter of the window, and one of a segment sent before the latest cut
            // nothing. A congestion control that takes more of it is cut again by the repairs of one loss.
            let text = "Vegas' recovery finds losses by the age of a segment, for which only the congestion control \"vegas\" has a rule: write `congestion_control = \"vegas\"`, or another recovery, for example \"newreno\"";
            return Err(("recovery", text.into()));
        }
        _ => return Ok(()),
    };
    // A recovery without SACK repairs a segment per round trip, or waits for the timer: behind Startup, which loses a
    // product of segments, that is minutes, and the rate of ten round trips is forgotten. FACK forgets at a timeout what the
    // receiver holds (RFC 2018 §8): half of what it then sends is no news, and the measured rate falls in each round trip.
    let reason = match params.recovery {
        RecoveryKind::Fack | RecoveryKind::Ns2Fack => "FACK's recovery forgets at a timeout",
        recovery if recovery.goes_by_sack() => return Ok(()),
        _ => "a recovery without SACK does not know",
    };
    let text = format!(
        "the congestion control \"{name}\" uses what is delivered, which {reason}: write {usual}, or leave it out"
    );
    Err(("recovery", text))
}

fn check_windows(params: &TcpParams) -> Result<(), SpecError> {
    let at_least_one = |field, value: Packets| {
        let message =
            || (field, format!("must be at least one packet; write for example \"64 pkt\", not \"{value}\""));
        if value.0 == 0 { Err(message()) } else { Ok(()) }
    };
    at_least_one("window", params.window)?;
    at_least_one("initial_window", params.initial_window)?;
    at_least_one("initial_ssthresh", params.initial_ssthresh)?;
    at_least_one("restart_window", params.restart_window)?;
    if params.window.0 > LARGEST_WINDOW {
        let message =
            format!("no window has more segments than 2^30: write at most \"{LARGEST_WINDOW} pkt\"");
        return Err(("window", message));
    }
    Ok(())
}

fn check_sizes(params: &TcpParams) -> Result<(), SpecError> {
    if params.segment.0 == 0 || params.segment.0 > 65_495 {
        let size = params.segment;
        return Err((
            "segment",
            format!("must be 1 B to 65495 B of payload; write for example \"512 B\", not \"{size}\""),
        ));
    }
    if params.segment.0.saturating_add(params.header.0) > 65_535 {
        let most = 65_535 - params.segment.0;
        return Err((
            "header",
            format!(
                "expected an IP datagram of at most 65535 B with its segment; write at most \"{most} B\""
            ),
        ));
    }
    if params.ack_size.0 > 65_535 {
        return Err((
            "ack_size",
            "expected at most 65535 B, the size of an IP datagram; write for example \"40 B\"".into(),
        ));
    }
    if params.ack_size.0 == 0 {
        return Err(("ack_size", "expected more than 0 B; write for example \"40 B\"".into()));
    }
    Ok(())
}

/// Detection of losses by duplicate ACKs, and of retransmissions that were not necessary.
fn check_detection(params: &TcpParams) -> Result<(), SpecError> {
    if !(1..=LARGEST_THRESHOLD).contains(&params.dupack_threshold) {
        let message = format!("must be 1 to {LARGEST_THRESHOLD}; write 3 for the standard threshold");
        return Err(("dupack_threshold", message));
    }
    if params.spurious_detection == SpuriousDetection::Eifel && !params.timestamps {
        return Err((
            "spurious_detection",
            "\"eifel\" needs `timestamps = true`; write \"f-rto\" without".into(),
        ));
    }
    if params.spurious_detection == SpuriousDetection::DSack && !params.dsack {
        return Err((
            "spurious_detection",
            "\"d-sack\" needs the rule `dsack = true` of a profile; write \"f-rto\" without".into(),
        ));
    }
    Ok(())
}

fn check_sack_blocks(params: &TcpParams) -> Result<(), SpecError> {
    let needs_sack = params.recovery.goes_by_sack();
    if params.sack_blocks > 4 || (needs_sack && params.sack_blocks == 0) {
        return Err((
            "sack_blocks",
            "must be 1 to 4 for a recovery by SACK, 0 to 4 otherwise; write 3".into(),
        ));
    }
    Ok(())
}

fn check_ecn(params: &TcpParams) -> Result<(), SpecError> {
    if params.congestion_control.properties().needs_ecn && !params.ecn {
        let text = "the congestion controls \"dctcp\" and \"prague\" go by echoes of congestion; write true, or leave it out";
        return Err(("ecn", text.into()));
    }
    check_accecn(params)?;
    if params.abe && !params.ecn {
        return Err(("abe", "there are echoes of congestion with `ecn = true` alone; write both".into()));
    }
    Ok(())
}

fn check_accecn(params: &TcpParams) -> Result<(), SpecError> {
    if params.congestion_control.properties().needs_accecn && !params.accecn {
        let text = "the congestion control \"prague\" uses the number of marked segments; write true, or leave it out";
        return Err(("accecn", text.into()));
    }
    if params.accecn && !params.ecn {
        return Err((
            "ecn",
            "accurate ECN counts marks, which `ecn = false` turns off; write true, or leave it out".into(),
        ));
    }
    if params.accecn && params.handshake != Handshake::ThreeWay {
        let text = "accurate ECN is agreed on by SYN and SYN/ACK: write `handshake = \"three-way\"` in the profile, or leave it out";
        return Err(("accecn", text.into()));
    }
    Ok(())
}

/// Pacing, the clock and the retransmission timer.
fn check_times(params: &TcpParams) -> Result<(), SpecError> {
    if params.pacing && params.is_ns2() {
        let text = "ns-2's profiles measure round trips in whole ticks of the clock, which are too coarse for a rate: write false, or the profile \"rfc\"";
        return Err(("pacing", text.into()));
    }
    if params.tick == Duration::ZERO {
        return Err(("tick", "a clock cannot tick every 0 s; write for example \"10 ms\"".into()));
    }
    if params.tick > LONGEST_TICK {
        return Err(("tick", format!("must be at most \"{LONGEST_TICK}\"; write for example \"10 ms\"")));
    }
    if params.initial_rto == Duration::ZERO {
        return Err(("initial_rto", "must be positive; write for example \"1 s\"".into()));
    }
    Ok(())
}
