//! Reaction of a sender to the notice that its packets take another path.

use roamlab_engine::named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named! {
    /// Reaction of a sender to the notice of a new path.
    #[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum PathPolicy {
        /// It ignores the notice.
        Nothing => "nothing",
        /// BBR: ProbeRTT immediately, and the shortest round-trip time is that of the new path (draft-ietf-ccwg-bbr
        /// issue 73).
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
