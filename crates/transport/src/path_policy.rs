//! Which transport can do what at a new path. What the senders do is in `tcp` and `quic`; QUIC's policies at a change of
//! addresses are in its `params.rs`, and a sender that is notified begins its new path by the same code.

use crate::TransportSpec;
use roamlab_congestion::{CongestionControlSpec, PathPolicy};
use roamlab_quic::QuicSpec;
use roamlab_tcp::{RecoveryKind, TcpProfile, TcpSpec};

impl TransportSpec {
    /// Whether a sender of this transport can do what the policy says at a new path. `profile`: of a TCP sender.
    ///
    /// # Errors
    /// What it lacks, and what to write instead.
    pub fn check_policy(&self, policy: PathPolicy, profile: impl Into<TcpProfile>) -> Result<(), String> {
        match self {
            TransportSpec::Tcp(spec) => check_tcp(policy, spec, profile.into()),
            TransportSpec::Quic(spec) => check_quic(policy, spec),
            TransportSpec::Quinn(_) => {
                Err("the stack quinn-proto cannot be notified of a path: write the transport \
                                            \"quic\", or leave `path_change` out"
                    .into())
            }
            TransportSpec::Linux(spec) => Err(spec.refuses_notices()),
            TransportSpec::Udp(_) => {
                Err("a sender of datagrams has no window: write the transport \"tcp\" or \
                                          \"quic\", or leave `path_change` out"
                    .into())
            }
        }
    }
}

fn check_tcp(policy: PathPolicy, spec: &TcpSpec, profile: TcpProfile) -> Result<(), String> {
    let Ok(params) = spec.resolve(profile) else { return Ok(()) }; // the check of the transport reports it
    if policy == PathPolicy::CarefulResume {
        let text = "\"careful-resume\" is built for QUIC alone: write \"restart\", or the transport \"quic\"";
        return Err(text.into());
    }
    let by_rack = params.recovery == RecoveryKind::Rack;
    check_control(policy, &params.congestion_control, by_rack)
}

fn check_quic(policy: PathPolicy, spec: &QuicSpec) -> Result<(), String> {
    if spec.migration.is_some() {
        let text = "the sender learns of the path by its new address: write `migration` or `path_change`";
        return Err(text.into());
    }
    if policy == PathPolicy::CarefulResume && !spec.can_resume() {
        let text = "\"careful-resume\" is for the congestion controls \"reno\" and \"cubic\": write one of these, \
                    or \"restart\"";
        return Err(text.into());
    }
    check_control(policy, &spec.congestion_control, true)
}

/// `keeps_min_rtt`: another part than the congestion control keeps a shortest round-trip time.
fn check_control(
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
