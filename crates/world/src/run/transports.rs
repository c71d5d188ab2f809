//! The two ends of a flow's transport, as a scenario describes them.

use crate::endpoints::flow::Transport;
use crate::endpoints::stack::Stack;
use roamlab_engine::{Duration, Streams};
use roamlab_quic::{QuicHandshake, QuicReceiver, QuicSender};
#[cfg(feature = "quinn")]
use roamlab_quinn::{EndRole, QuinnEnd};
use roamlab_scenario::{FlowSpec, Scenario};
use roamlab_tcp::{TcpParams, TcpReceiver, TcpSender};
use roamlab_transport::{UdpReceiver, UdpSender};
use std::sync::Arc;

/// TCP, whose timer's clock begins at `phase`.
pub fn tcp(params: &Arc<TcpParams>, phase: Duration) -> Transport {
    Transport::Tcp {
        segment: params.segment,
        sender: Box::new(TcpSender::new(Arc::clone(params), phase)),
        receiver: Box::new(TcpReceiver::new(Arc::clone(params))),
    }
}

/// QUIC, quinn, a stack outside, or UDP.
pub fn other(spec: &FlowSpec, scenario: &Scenario, streams: &Streams) -> Transport {
    quic(spec)
        .or_else(|| quinn(spec, scenario, streams))
        .or_else(|| spec.transport.linux().map(|linux| Transport::Stack(Box::new(Stack::new(linux.segment)))))
        .unwrap_or_else(|| Transport::Udp { sender: UdpSender::default(), receiver: UdpReceiver::default() })
}

fn quic(spec: &FlowSpec) -> Option<Transport> {
    let mut params = spec.transport.quic()?.clone();
    // As of TCP: the handshake is that of the requests.
    if spec.app.asks() {
        params.handshake = QuicHandshake::None;
    }
    let (segment, params) = (params.segment(), Arc::new(params));
    Some(Transport::Quic {
        sender: Box::new(QuicSender::new(Arc::clone(&params))),
        receiver: Box::new(QuicReceiver::new(params)),
        segment,
    })
}

/// The client is the end at a host that moves, else the one that gets the data.
#[cfg(feature = "quinn")]
fn quinn(spec: &FlowSpec, scenario: &Scenario, streams: &Streams) -> Option<Transport> {
    let params = spec.transport.quinn()?;
    let (segment, params) = (params.segment(), Arc::new(params.clone()));
    let moves = |node: &String| scenario.hosts.iter().any(|host| host.name == *node);
    let [from, to] = &spec.path;
    let uploads = moves(from) && !moves(to);
    let drawn = streams.named(&format!("{}/quinn", spec.name)).uniform();
    let seed = (drawn * (1u64 << 53) as f64) as u64;
    let end = |is_client, sends| QuinnEnd::new(Arc::clone(&params), EndRole { is_client, sends }, seed);
    let (sender, receiver) = (Box::new(end(uploads, true)), Box::new(end(!uploads, false)));
    Some(Transport::Quinn { sender, receiver, segment })
}

/// The check refuses such flows in a build without quinn.
#[cfg(not(feature = "quinn"))]
fn quinn(_spec: &FlowSpec, _scenario: &Scenario, _streams: &Streams) -> Option<Transport> {
    None
}
