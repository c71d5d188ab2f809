//! Parameters of Mobile IP.

use crate::{BufferDrop, BufferFlush, Domain};
use roamlab_engine::{Duration, Packets};
use roamlab_packet::Dscp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mobile IP: parameters of all roles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The part of the network that it is about; absent: all.
    #[serde(skip_serializing_if = "Domain::is_whole")]
    pub domain: Domain,
    /// Correspondents learn the care-of address and tunnel to it themselves; off: all packets go through the home
    /// agent. Default true.
    pub route_optimisation: bool,
    /// The new agent tells the previous one, which tunnels on what still comes. Needed to get at a base station's
    /// buffer. Default true.
    pub smooth_handoff: bool,
    /// Event at which the home agent updates correspondents. ASSUMPTION (A1): mblue's text names the warning,
    /// its eq. 1 needs the registration. Default "both": whichever is first.
    pub ro_trigger: RoTrigger,
    /// The local handoff protocol of mblue fig. 3: beacon, handoff request, notification, advertisement on demand.
    /// Off: the host waits for the periodic advertisement. Default true.
    pub local_handoff: bool,
    /// Time between two beacons. Default 50 ms (mblue table I).
    pub beacon_interval: Duration,
    /// When a host that arrives hears its first beacon. ASSUMPTION (A2): mblue table I counts a whole interval.
    /// Default "worst".
    pub tb_mode: BeaconTiming,
    /// Time between two periodic advertisements, sent only without the local handoff protocol. RFC 5944 §2.1 allows
    /// one a second. Default 1 s.
    pub advertisement_interval: Duration,
    /// Without the local handoff protocol, the host solicits an advertisement as soon as its link is up. Default
    /// false.
    pub solicitation: bool,
    /// The lifetime that hosts ask for and agents grant. Default 300 s.
    pub registration_lifetime: Duration,
    /// The host registers again this long before its registration ends. Default 30 s.
    pub renewal_margin: Duration,
    /// Longest lifetime of a correspondent's binding. Default 60 s.
    pub binding_lifetime: Duration,
    /// A correspondent that still uses its binding asks for a new one this long before it ends. Default 5 s.
    pub binding_request_margin: Duration,
    /// Buffering of a departed host's packets.
    pub buffer: BufferParams,
}

/// Least time to the first retransmission of a registration request; each later one waits twice as long (RFC 5944
/// §3.6.3).
pub(super) const REGISTRATION_RETRANSMIT: Duration = Duration::from_secs(1);

/// Allowance for processing in the first wait, on top of twice the round trip to the home agent as the host's last
/// registration measured it (RFC 5944 §3.6.3). A host's first registration knows no round trip.
pub(super) const REGISTRATION_PROCESSING: Duration = Duration::from_millis(100);

/// A foreign agent gives a registration up after this time without an answer (code 78). A late answer counts, as
/// long as the lifetime asked for.
pub(super) const PENDING_TIMEOUT: Duration = Duration::from_secs(7);

/// First retransmission of a binding update to the old agent, and of the forward message; each later one waits
/// twice as long.
pub(super) const UPDATE_RETRANSMIT: Duration = Duration::from_millis(200);

/// First retransmission of a binding update to a correspondent; each later one waits twice as long.
pub(super) const CORRESPONDENT_RETRANSMIT: Duration = Duration::from_secs(1);

/// Longest time between two retransmissions of a registration request or of a binding update to a correspondent; a
/// first one that is longer stays. RFC 5944 §3.6.3 lets requests double up to the lifetime asked for. ASSUMPTION: 8
/// s, so that an agent has given a request up before a late one comes.
pub(super) const RETRANSMIT_LIMIT: Duration = Duration::from_secs(8);

/// The same of binding updates to the old agent and of the forward message. ASSUMPTION: the drafts leave it open; 2
/// s, the hold time of buffers.
pub(super) const UPDATE_RETRANSMIT_LIMIT: Duration = Duration::from_secs(2);

/// Least time between two binding warnings, two binding requests, and two unchanged binding updates about the same
/// host and correspondent.
pub(super) const WARNING_INTERVAL: Duration = Duration::from_secs(1);

impl Default for Params {
    fn default() -> Self {
        Params {
            domain: Domain::default(),
            route_optimisation: true,
            smooth_handoff: true,
            ro_trigger: RoTrigger::Both,
            local_handoff: true,
            beacon_interval: Duration::from_millis(50),
            tb_mode: BeaconTiming::Worst,
            advertisement_interval: Duration::from_secs(1),
            solicitation: false,
            registration_lifetime: Duration::from_secs(300),
            renewal_margin: Duration::from_secs(30),
            binding_lifetime: Duration::from_secs(60),
            binding_request_margin: Duration::from_secs(5),
            buffer: BufferParams::default(),
        }
    }
}

/// Least time between two beacons or periodic advertisements. IEEE 802.11 counts beacon intervals in units of 1.024 ms.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);

impl Params {
    /// Refuses what cannot run.
    ///
    /// # Errors
    /// The field, and what was expected and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let spans = [
            ("beacon_interval", self.beacon_interval),
            ("advertisement_interval", self.advertisement_interval),
            ("registration_lifetime", self.registration_lifetime),
            ("binding_lifetime", self.binding_lifetime),
            ("buffer.hold", self.buffer.hold),
            ("buffer.longest_wait", self.buffer.longest_wait.unwrap_or(self.buffer.hold)),
        ];
        if let Some((field, _)) = spans.iter().find(|(_, span)| *span == Duration::ZERO) {
            return Err((field, "this time cannot be zero: write for example \"1 s\"".into()));
        }
        if self.buffer.forward_below == Some(Packets(0)) {
            let message = "no queue is shorter: write at least \"1 pkt\", or `at = \"none\"`";
            return Err(("buffer.forward_below", message.into()));
        }
        let periods = [
            ("beacon_interval", self.beacon_interval),
            ("advertisement_interval", self.advertisement_interval),
        ];
        match periods.iter().find(|(_, period)| *period < SHORTEST_PERIOD) {
            Some((field, _)) => Err((
                field,
                format!("no base station sends that often: write at least \"{SHORTEST_PERIOD}\""),
            )),
            None => Ok(()),
        }
    }

    /// True if base stations buffer. Without smooth handoff no node would request the packets that they hold.
    pub fn buffers(&self) -> bool {
        self.smooth_handoff && self.buffer.at == BufferAt::BaseStation
    }

    /// True if foreign agents keep copies. Without smooth handoff no node would request them.
    pub fn keeps_copies(&self) -> bool {
        self.smooth_handoff && self.buffer.at == BufferAt::ForeignAgent && self.buffer.limit > Packets(0)
    }

    /// The average queue from which on a base station accepts no buffered packets; `None`: nothing asks for it.
    pub fn forward_below(&self) -> Option<Packets> {
        let is_asked = self.local_handoff && (self.buffers() || self.keeps_copies());
        self.buffer.forward_below.filter(|_| is_asked)
    }
}

/// Event at which the home agent notifies correspondents of a new care-of address. A packet of a
/// correspondent that arrives at the home agent always does so.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoTrigger {
    /// The registration: all correspondents with a live binding at the same time.
    Registration,
    /// The old agent's binding warning: the correspondent that it names.
    Warning,
    /// Both.
    Both,
}

impl RoTrigger {
    pub(super) const fn by_registration(self) -> bool {
        matches!(self, RoTrigger::Registration | RoTrigger::Both)
    }

    pub(super) const fn by_warning(self) -> bool {
        matches!(self, RoTrigger::Warning | RoTrigger::Both)
    }
}

/// When a host that arrives hears its first beacon.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeaconTiming {
    /// One whole interval after it arrived.
    Worst,
    /// Whenever the base station's own clock, of random phase, has it.
    Uniform,
}

/// Where packets for a departed host wait.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferAt {
    /// They are lost.
    None,
    /// At the base station that the host left.
    BaseStation,
    /// At the foreign agent that the host left: copies of the last packets that it sent to the host (ipf section
    /// II.A). It does not know which of them the host has, and forwards all.
    ForeignAgent,
}

/// Buffering: one buffer per host (mblue section II). The world keeps the packets; agents decide when to hold, release
/// and discard them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BufferParams {
    /// Where. Default "base-station". The papers compare it with "foreign-agent".
    pub at: BufferAt,
    /// Packets that one host's buffer holds; what comes later is dropped. Default 64 pkt, one window.
    pub limit: Packets,
    /// Which packet a full buffer loses. Default "newest": the one that comes.
    pub drop: BufferDrop,
    /// In which order the buffer is emptied. Default "oldest-first".
    pub flush: BufferFlush,
    /// A packet that has waited this long is lost; absent: it waits as long as the buffer is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<Duration>,
    /// The old base station marks what it forwards, so that the new one's queue can tell. Default true.
    pub mark_forwarded: bool,
    /// The code point it marks with, and that the edge of the access network polices. Default 3 (000011).
    #[schemars(with = "u8", range(min = 1, max = 63))]
    pub mark: Dscp,
    /// The buffer is released, forwarding ends, and the old agent's detour ends after this time without a
    /// packet. Default 2 s.
    pub hold: Duration,
    /// Layer-2 acknowledgements free a copy that the host has received, so only what it lacks is forwarded (ipf
    /// section II.A). Default true.
    pub layer2_ack: bool,
    /// After a host's arrival the new base station holds unmarked packets for this long from the first of
    /// them on. Marked ones pass. So packets that the correspondent sends directly stay behind those on the
    /// old path. ASSUMPTION (A6): neither paper treats the end of forwarding. Default 0, which holds nothing.
    pub in_order_wait: Duration,
    /// Packets that reach the old agent during forwarding pass through the old base station's buffer (mblue
    /// fig. 4). Off: they are tunnelled to the new agent immediately. Default true.
    pub detour: bool,
    /// The new base station accepts buffered packets only while the average queue of its RED or M-RED before the air is
    /// below this. Its agent puts the answer into the option field of the binding update that ipf section III
    /// describes, and the old agent forwards nothing where it is refused. Absent: there is no such field, and the old
    /// agent always forwards. ASSUMPTION: ipf has "approaches the threshold TH_max", and gives no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_below: Option<Packets>,
}

impl Default for BufferParams {
    fn default() -> Self {
        BufferParams {
            at: BufferAt::BaseStation,
            limit: Packets(64),
            drop: BufferDrop::Newest,
            flush: BufferFlush::OldestFirst,
            longest_wait: None,
            mark_forwarded: true,
            mark: Dscp::FORWARDED,
            hold: Duration::from_secs(2),
            layer2_ack: true,
            in_order_wait: Duration::ZERO,
            detour: true,
            forward_below: None,
        }
    }
}
