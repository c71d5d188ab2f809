//! quinn among the transports. Its ends are in the crate `quinn`, in a build with the feature `quinn`.

use crate::parameters::{Data, Parameters};
use roamlab_congestion::{PathPolicy, SpecError};
use roamlab_engine::{Bytes, Packets};
use roamlab_quinn::QuinnSpec;
use roamlab_tcp::Profiles;

pub(crate) use roamlab_quinn::QuinnSpec as Spec;

#[cfg(not(feature = "quinn"))]
pub(crate) use absent::{Ends, ends};
#[cfg(feature = "quinn")]
pub use present::Ends;
#[cfg(feature = "quinn")]
pub(crate) use present::ends;

#[cfg(not(feature = "quinn"))]
mod absent {
    use crate::family::Setting;
    use roamlab_quinn::QuinnSpec;

    pub use crate::udp::Ends;

    pub(crate) fn ends(_spec: &QuinnSpec, _setting: &Setting<'_>) -> Option<Ends> {
        None
    }
}

#[cfg(feature = "quinn")]
mod present {
    use crate::endpoints::{Arrival, Endpoints, FlowPacket, StraightPath};
    use crate::family::Setting;
    use roamlab_congestion::{SenderEvent, SenderVariables};
    use roamlab_engine::{Bytes, Time};
    use roamlab_packet::{Format, QuicHeader, Side};
    use roamlab_quinn::{EndRole, QuinnEnd, QuinnSpec};
    use std::sync::Arc;

    /// The two ends of a connection of quinn.
    #[derive(Clone, Debug)]
    pub struct Ends {
        sender: Box<QuinnEnd>,
        receiver: Box<QuinnEnd>,
        segment: Bytes,
    }

    /// The ends of a flow. The client is the end at a host that moves, else the one that gets the data.
    pub(crate) fn ends(spec: &QuinnSpec, setting: &Setting<'_>) -> Option<Ends> {
        let params = Arc::new(spec.clone());
        let drawn = setting.streams.named(&format!("{}/quinn", setting.flow)).uniform();
        let seed = (drawn * (1u64 << 53) as f64) as u64;
        let end = |is_client, sends| {
            Box::new(QuinnEnd::new(Arc::clone(&params), EndRole { is_client, sends }, seed))
        };
        let segment = spec.segment();
        Some(Ends { sender: end(setting.uploads, true), receiver: end(!setting.uploads, false), segment })
    }

    impl Ends {
        fn end(&mut self, side: Side) -> &mut QuinnEnd {
            match side {
                Side::Sender => &mut self.sender,
                Side::Receiver => &mut self.receiver,
            }
        }
    }

    impl StraightPath for Ends {}

    impl Endpoints for Ends {
        fn segment(&self) -> Option<Bytes> {
            Some(self.segment)
        }

        fn offer(&mut self, segments: Option<u64>) {
            self.sender.offer(segments);
            self.sender.open();
            self.receiver.open();
        }

        fn stop(&mut self) {
            self.sender.stop();
        }

        fn poll(&mut self, side: Side, now: Time) -> Option<FlowPacket> {
            self.end(side).poll_transmit(now).map(crate::quic::packet)
        }

        fn deliver(
            &mut self,
            side: Side,
            FlowPacket { header, .. }: FlowPacket,
            now: Time,
        ) -> Option<Arrival> {
            if header.format != Format::OverUdp {
                return None;
            }
            let header = QuicHeader::from(header);
            let (receipt, fresh_bytes) = self.end(side).on_packet(&header, now);
            Some(match side {
                Side::Sender => Arrival::default(),
                Side::Receiver => {
                    let bytes = if receipt.fresh { fresh_bytes } else { header.payload.into() };
                    Arrival::new(receipt, bytes)
                }
            })
        }

        fn deadline(&self, side: Side) -> Option<Time> {
            match side {
                Side::Sender => self.sender.next_deadline(),
                Side::Receiver => self.receiver.next_deadline(),
            }
        }

        fn on_deadline(&mut self, side: Side, now: Time) {
            self.end(side).on_deadline(now);
        }

        fn poll_event(&mut self) -> Option<SenderEvent> {
            self.sender.poll_fact()
        }

        fn variables(&self) -> Option<(SenderVariables, u32)> {
            Some((self.sender.variables(), self.receiver.next_segment()))
        }

        fn has(&self, segment: u32) -> bool {
            self.receiver.has(segment)
        }

        fn stops(&self) -> [&'static str; 2] {
            ["quic.poll_transmit", "quic.on_packet"]
        }

        fn counts_segments(&self) -> bool {
            false
        }

        fn opens_at_receiver(&self) -> bool {
            true
        }

        fn migrates(&self) -> bool {
            self.receiver.spec().migration
        }

        fn on_path_change(&mut self, side: Side, _now: Time) {
            self.end(side).on_path_change();
        }
    }
}

impl Parameters for QuinnSpec {
    fn check_build(&self) -> Result<(), &'static str> {
        if cfg!(feature = "quinn") {
            return Ok(());
        }
        Err(
            "this build of the engine has no quinn: write kind = \"quic\" for our own model, or build the engine with \
             the feature `quinn`",
        )
    }

    fn check_data(&self, data: Data) -> Result<(), &'static str> {
        match data {
            Data::File => Ok(()),
            _ => Err("over quinn there are files alone: write kind = \"ftp\", or the transport \"quic\""),
        }
    }

    fn check(&self, _profiles: Profiles<'_>) -> Result<Option<Bytes>, SpecError> {
        QuinnSpec::check(self)?;
        Ok(Some(QuinnSpec::segment(self)))
    }

    fn check_policy(&self, _policy: PathPolicy, _profiles: Profiles<'_>) -> Result<(), String> {
        Err("the stack quinn-proto cannot be notified of a path: write the transport \"quic\", or leave \
             `path_change` out"
            .into())
    }

    fn load(&self, _profiles: Profiles<'_>) -> Option<(Bytes, Option<Packets>)> {
        Some((self.packet_size(), None))
    }

    fn can_migrate(&self) -> bool {
        true
    }

    fn can_branch(&self) -> bool {
        false
    }
}
