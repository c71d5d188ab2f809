//! What a sender does that is notified that its packets take another path.
//!
//! QUIC's policies at a change of addresses are in `quic/params.rs`; a QUIC sender that is notified begins its new path by
//! the same code.

use crate::params::RecoveryKind;
use crate::quic::Migration;
use crate::tcp::CongestionControlSpec;
use crate::{Profile, QuicSpec, TcpSpec, TransportSpec};
use roamlab_engine::named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named! {
    /// What a sender does that is notified of a new path.
    #[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum PathPolicy {
        /// It ignores the notice.
        Nothing => "nothing",
        /// BBR: ProbeRTT at once, and the shortest round-trip time is that of the new path (draft-ietf-ccwg-bbr issue 73).
        ProbeRtt => "probe-rtt",
        /// The shortest round-trip time is that of the new path, and nothing else changes.
        ForgetMinRtt => "forget-min-rtt",
        /// QUIC: as `restart`, and then half the window of the old path, which is given up if packets are lost (RFC 9959).
        CarefulResume => "careful-resume",
        /// Window, pacing and round-trip times are those of a new connection, and what is in flight does not count
        /// (RFC 9000 §9.4; draft-schuetz-tcpm-tcp-rlci).
        Restart => "restart",
        /// As `restart`, and all that is in flight is lost and sent again (as quic-go at a migration).
        CountLost => "count-lost",
    }
}

impl PathPolicy {
    /// How a QUIC sender begins on the new path; `None`: it goes on with window and round-trip times.
    pub(crate) fn migration(self) -> Option<Migration> {
        match self {
            PathPolicy::Nothing | PathPolicy::ProbeRtt | PathPolicy::ForgetMinRtt => None,
            PathPolicy::CarefulResume => Some(Migration::CarefulResume),
            PathPolicy::Restart => Some(Migration::Quinn),
            PathPolicy::CountLost => Some(Migration::QuicGo),
        }
    }

    /// Whether a sender of this transport can do it.
    ///
    /// # Errors
    /// What it lacks, and what to write instead.
    pub fn check(self, transport: &TransportSpec, profile: Profile) -> Result<(), String> {
        match transport {
            TransportSpec::Tcp(spec) => self.check_tcp(spec, profile),
            TransportSpec::Quic(spec) => self.check_quic(spec),
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

    fn check_tcp(self, spec: &TcpSpec, profile: Profile) -> Result<(), String> {
        let Ok(params) = spec.resolve(profile) else { return Ok(()) }; // the check of the transport reports it
        if self == PathPolicy::CarefulResume {
            let text =
                "\"careful-resume\" is built for QUIC alone: write \"restart\", or the transport \"quic\"";
            return Err(text.into());
        }
        let by_rack = params.recovery == RecoveryKind::Rack;
        self.check_control(&params.congestion_control, by_rack)
    }

    fn check_quic(self, spec: &QuicSpec) -> Result<(), String> {
        if spec.migration.is_some() {
            let text = "the sender learns of the path by its new address: write `migration` or `path_change`";
            return Err(text.into());
        }
        if self == PathPolicy::CarefulResume && !spec.can_resume() {
            let text = "\"careful-resume\" is for the congestion controls \"reno\" and \"cubic\": write one of these, \
                        or \"restart\"";
            return Err(text.into());
        }
        self.check_control(&spec.congestion_control, true)
    }

    /// `keeps_min_rtt`: another part than the congestion control keeps a shortest round-trip time.
    fn check_control(self, control: &CongestionControlSpec, keeps_min_rtt: bool) -> Result<(), String> {
        if self == PathPolicy::ProbeRtt && !control.properties().probes_rtt {
            let text = "the congestion control has no ProbeRTT: write \"restart\" or \"count-lost\", or the congestion \
                        control \"bbr\" or \"bbr3\"";
            return Err(text.into());
        }
        if self == PathPolicy::ForgetMinRtt && !control.properties().keeps_min_rtt && !keeps_min_rtt {
            let text = "nothing here keeps a shortest round-trip time: write \"restart\" or \"count-lost\", or the \
                        congestion control \"bbr\", \"bbr3\" or \"vegas\"";
            return Err(text.into());
        }
        Ok(())
    }
}
