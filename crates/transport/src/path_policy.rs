//! Which congestion control can do what at a new path. What the senders do is in `tcp` and `quic`; QUIC's policies at a change of
//! addresses are in its `params.rs`, and a sender that is notified begins its new path by the same code.

use roamlab_congestion::{CongestionControlSpec, PathPolicy};

/// True if a congestion control can do what the policy requires.
///
/// `keeps_min_rtt`: another part than the congestion control keeps a shortest round-trip time.
pub(crate) fn check_control(
    policy: PathPolicy,
    control: &CongestionControlSpec,
    keeps_min_rtt: bool,
) -> Result<(), String> {
    if policy == PathPolicy::ProbeRtt && !control.properties().probes_rtt {
        let text = "the congestion control has no ProbeRTT: write \"restart\" or \"count-lost\", or the congestion \
                    control \"bbr\" or \"bbr3\"";
        return Err(text.into());
    }
    if policy == PathPolicy::ForgetMinRtt && !control.properties().keeps_min_rtt && !keeps_min_rtt {
        let text = "nothing here keeps a shortest round-trip time: write \"restart\" or \"count-lost\", or the \
                    congestion control \"bbr\", \"bbr3\" or \"vegas\"";
        return Err(text.into());
    }
    Ok(())
}
