//! QUIC among the transports. Its ends are in the crate `quic`.

use crate::LARGEST_PACKET;
use crate::endpoints::{Arrival, Endpoints, FlowPacket, StraightPath, both_ends};
use crate::family::Setting;
use crate::parameters::{Parameters, Warning};
use crate::path_policy::check_control;
use roamlab_congestion::{PathPolicy, SpecError};
use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_packet::{Ecn, Format, QuicHeader, Side};
use roamlab_quic::{QuicHandshake, QuicPacket, QuicReceiver, QuicSender, QuicSpec};
use roamlab_tcp::Profiles;
use std::sync::Arc;

pub(crate) use roamlab_quic::QuicSpec as Spec;

/// The two ends of a QUIC connection.
#[derive(Clone, Debug)]
pub struct Ends {
    sender: Box<QuicSender>,
    receiver: Box<QuicReceiver>,
    segment: Bytes,
}

/// The ends of a flow.
pub(crate) fn ends(spec: &QuicSpec, setting: &Setting<'_>) -> Option<Ends> {
    let mut params = spec.clone();
    // As of TCP: the handshake is that of the requests.
    if setting.is_opened {
        params.handshake = QuicHandshake::None;
    }
    let (segment, params) = (params.segment(), Arc::new(params));
    Some(Ends {
        sender: Box::new(QuicSender::new(Arc::clone(&params))),
        receiver: Box::new(QuicReceiver::new(params)),
        segment,
    })
}

/// A QUIC packet as one of a flow.
#[inline]
pub(crate) fn packet(QuicPacket { header, size }: QuicPacket) -> FlowPacket {
    FlowPacket { header: header.into(), size, ecn: Ecn::NotEct }
}

impl StraightPath for Ends {}

impl Endpoints for Ends {
    fn segment(&self) -> Option<Bytes> {
        Some(self.segment)
    }

    both_ends!();

    #[inline(always)]
    fn poll(&mut self, side: Side, now: Time) -> Option<FlowPacket> {
        let sent = match side {
            Side::Sender => self.sender.poll_transmit(now),
            Side::Receiver => self.receiver.poll_transmit(now),
        };
        sent.map(packet)
    }

    #[inline(always)]
    fn deliver(&mut self, side: Side, FlowPacket { header, .. }: FlowPacket, now: Time) -> Option<Arrival> {
        if header.format != Format::OverUdp {
            return None;
        }
        let header = QuicHeader::from(header);
        Some(match side {
            Side::Sender => {
                self.sender.on_packet(&header, now);
                Arrival::default()
            }
            Side::Receiver => Arrival::new(self.receiver.on_packet(&header, now), header.payload.into()),
        })
    }

    fn stops(&self) -> [&'static str; 2] {
        ["quic.poll_transmit", "quic.on_packet"]
    }

    fn migrates(&self) -> bool {
        self.receiver.spec().migration.is_some()
    }

    fn on_path_change(&mut self, side: Side, now: Time) {
        match side {
            Side::Sender => self.sender.on_path_change(now),
            Side::Receiver => self.receiver.on_path_change(now),
        }
    }
}

impl Parameters for QuicSpec {
    fn check(&self, _profiles: Profiles<'_>) -> Result<Option<Bytes>, SpecError> {
        QuicSpec::check(self)?;
        Ok(Some(QuicSpec::segment(self)))
    }

    fn check_policy(&self, policy: PathPolicy, _profiles: Profiles<'_>) -> Result<(), String> {
        if self.migration.is_some() {
            let text = "the sender learns of the path by its new address: write `migration` or `path_change`";
            return Err(text.into());
        }
        if policy == PathPolicy::CarefulResume && !self.can_resume() {
            let text = "\"careful-resume\" is for the congestion controls \"reno\" and \"cubic\": write one of these, \
                        or \"restart\"";
            return Err(text.into());
        }
        check_control(policy, &self.congestion_control, true)
    }

    fn warnings(&self, _profiles: Profiles<'_>, _duration: Duration) -> Vec<Warning> {
        if self.datagram <= LARGEST_PACKET {
            return Vec::new();
        }
        let message = format!(
            "a datagram has {}: Ethernet's packets have at most 1500 B, or {LARGEST_PACKET} in jumbo frames",
            self.datagram
        );
        vec![Warning { field: "datagram", message, help: "write for example \"1200 B\"" }]
    }

    fn load(&self, _profiles: Profiles<'_>) -> Option<(Bytes, Option<Packets>)> {
        Some((self.packet_size(), None))
    }

    fn can_migrate(&self) -> bool {
        true
    }
}
