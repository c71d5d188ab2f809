//! One end of a connection of quinn, with the data of one stream.

use crate::contents::Contents;
use crate::plain::{PlainConfig, PlainKey};
use crate::progress::Progress;
use crate::spec::{QuinnControl, QuinnSpec};
use crate::time::{duration, instant, time};
use bytes::BytesMut;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir,
    Endpoint, EndpointConfig, Event, InvalidCid, ServerConfig, StreamEvent, StreamId, TransportConfig,
};
use roamlab_congestion::{SenderEvent, SenderEventKind, SenderVariables};
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::QuicHeader;
use roamlab_packet::Receipt;
use roamlab_quic::QuicPacket;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// IPv4 and UDP headers.
const IP_UDP: u64 = 28;
/// Bytes of a connection ID, quinn's default.
const CONNECTION_ID: usize = 8;
/// Data that quinn has and has not sent, in packets: there is always a packet's more than it sends at one
/// time.
const AHEAD: u64 = 16;
/// Content of the stream.
static ZEROS: [u8; 4096] = [0; 4096];

/// Application of an end.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct EndRole {
    /// It opens the connection, and may get a new address.
    pub is_client: bool,
    /// It sends the data.
    pub sends: bool,
}

/// One end of a connection.
///
/// After every input call [`poll_transmit`](Self::poll_transmit) until it gives `None`, at the time of the input.
pub struct QuinnEnd {
    spec: Arc<QuinnSpec>,
    role: EndRole,
    seed: u64,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// A client is to open the connection.
    opens: bool,
    stream: Option<StreamId>,
    /// Bytes offered, and bytes that quinn has taken.
    offered: u64,
    written: u64,
    /// Of the stream: what was sent, or what has arrived.
    progress: Progress,
    /// Datagrams sent.
    sent: u32,
    /// Of a client: how often its address has changed, and how often its host has moved.
    path: u32,
    moves: u32,
    /// Datagrams of the endpoint itself, and the address to which they go.
    answers: VecDeque<(Vec<u8>, u32)>,
    deadline: Option<Time>,
    seen: Seen,
    facts: VecDeque<SenderEvent>,
}

/// The sender's state when it was reported last.
#[derive(Copy, Clone, PartialEq, Default, Debug)]
struct Seen {
    cwnd: f64,
    losses: u64,
    remote: Option<SocketAddr>,
    /// The window was cut, and what was lost has not been sent again yet.
    repairs: bool,
    /// How often the window was cut.
    cuts: u64,
}

impl std::fmt::Debug for QuinnEnd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (role, progress) = (self.role, &self.progress);
        formatter
            .debug_struct("QuinnEnd")
            .field("role", &role)
            .field("progress", progress)
            .finish_non_exhaustive()
    }
}

/// A connection of quinn cannot be copied: the copy is an end that has not begun. Runs with one share no beginning, so no
/// connection is ever copied.
impl Clone for QuinnEnd {
    fn clone(&self) -> QuinnEnd {
        debug_assert!(self.connection.is_none(), "a connection of quinn cannot be copied");
        QuinnEnd::new(Arc::clone(&self.spec), self.role, self.seed)
    }
}

/// Connection IDs in order: quinn's own are random.
struct Numbered {
    next: u32,
    side: u8,
}

impl ConnectionIdGenerator for Numbered {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next += 1;
        connection_id(self.side, self.next)
    }

    fn validate(&self, _cid: &ConnectionId) -> Result<(), InvalidCid> {
        Ok(())
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

fn connection_id(side: u8, number: u32) -> ConnectionId {
    let mut bytes = [side; CONNECTION_ID];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    ConnectionId::new(&bytes)
}

/// The address of a server.
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);

/// The address of a client that has changed it so often.
fn client_address(path: u32) -> SocketAddr {
    let [_, high, middle, low] = path.to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(11, high, middle, low), 50_000))
}

/// How often a client has changed its address, to have this one.
fn path_of(address: SocketAddr) -> u32 {
    match address.ip() {
        std::net::IpAddr::V4(address) if address.octets()[0] == 11 => u32::from(address) & 0xff_ffff,
        _ => 0,
    }
}

impl QuinnEnd {
    /// An end that has not begun. All its random numbers are from the seed.
    pub fn new(spec: Arc<QuinnSpec>, role: EndRole, seed: u64) -> QuinnEnd {
        QuinnEnd {
            endpoint: endpoint(&spec, role, seed),
            connection: None,
            opens: false,
            stream: None,
            offered: 0,
            written: 0,
            progress: Progress::default(),
            sent: 0,
            path: 0,
            moves: 0,
            answers: VecDeque::new(),
            deadline: None,
            seen: Seen::default(),
            facts: VecDeque::new(),
            spec,
            role,
            seed,
        }
    }

    /// The parameters of the connection.
    pub fn spec(&self) -> &QuinnSpec {
        &self.spec
    }

    /// The application offers `segments` more, or an unlimited backlog.
    pub fn offer(&mut self, segments: Option<u64>) {
        let bytes = segments.map_or(u64::MAX, |count| count.saturating_mul(self.spec.segment().0));
        self.offered = self.offered.saturating_add(bytes);
    }

    /// The application stops: what quinn has not taken by now never will be sent.
    pub fn stop(&mut self) {
        self.offered = self.written;
    }

    /// A client opens the connection with its next packet.
    pub fn open(&mut self) {
        self.opens = self.role.is_client && self.connection.is_none();
    }

    /// This end has a new address. quinn has it only at the client.
    pub fn on_path_change(&mut self) {
        self.moves += u32::from(self.spec.migration && self.role.is_client);
        self.take_address();
    }

    /// A client takes its new address.
    ///
    /// ASSUMPTION: not before the handshake is confirmed, as RFC 9000 §9 demands; until then the old address serves.
    fn take_address(&mut self) {
        if let Some((_, connection)) = &mut self.connection
            && self.path != self.moves
            && connection.stats().frame_rx.handshake_done > 0
        {
            self.path = self.moves;
            connection.local_address_changed();
        }
    }

    /// A datagram arrived: what it means to the receiver, and its new bytes.
    pub fn on_packet(&mut self, header: &QuicHeader, now: Time) -> (Receipt, u64) {
        let data = header.datagram.as_deref().unwrap_or_default();
        let remote = if self.role.is_client { SERVER } else { client_address(header.path) };
        let mut answer = Vec::new();
        let event = self.endpoint.handle(instant(now), remote, None, None, BytesMut::from(data), &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, instant(now), &mut answer, None).ok();
            }
            Some(DatagramEvent::Response(_)) => self.answers.push_back((answer, header.path)),
            None => {}
        }
        let before = self.progress.base();
        let fresh_bytes = if self.role.sends { 0 } else { self.arrived(data) };
        let out_of_order = u64::from(header.segment) * self.spec.segment().0 < self.progress.end();
        self.settle(now);
        let in_order = self.progress.base() > before;
        let fresh = fresh_bytes > 0 || header.payload == 0;
        (Receipt { fresh, in_order_segments: in_order.into(), out_of_order }, fresh_bytes)
    }

    /// Takes the stream's bytes of a datagram into the record: how many are new.
    fn arrived(&mut self, data: &[u8]) -> u64 {
        let ranges = Contents::of(data, CONNECTION_ID).stream;
        ranges.into_iter().map(|range| self.progress.insert(range)).sum()
    }

    /// Passes events between quinn's parts until there are none, and notes the deadline.
    fn settle(&mut self, now: Time) {
        self.take_address();
        let Some((handle, connection)) = &mut self.connection else { return };
        loop {
            let mut is_quiet = true;
            while let Some(event) = connection.poll_endpoint_events() {
                is_quiet = false;
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                is_quiet = false;
                if let Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) = event {
                    self.stream = self.stream.or(connection.streams().accept(Dir::Uni));
                }
            }
            if is_quiet {
                break;
            }
        }
        if self.role.sends {
            self.write();
        } else {
            self.read();
        }
        self.note(now);
    }

    /// Gives quinn the data that it can take now: some packets more than it has sent.
    fn write(&mut self) {
        let ahead = AHEAD * self.spec.datagram.0;
        let Some((_, connection)) = &mut self.connection else { return };
        if self.stream.is_none() && !connection.is_handshaking() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(stream) = self.stream else { return };
        while self.written < self.offered.min(self.progress.end() + ahead) {
            let room = (self.offered - self.written).min(ZEROS.len() as u64) as usize;
            match connection.send_stream(stream).write(&ZEROS[..room]) {
                Ok(count) if count > 0 => self.written += count as u64,
                _ => break,
            }
        }
    }

    /// Takes what has arrived in order, which gives the other end credit.
    fn read(&mut self) {
        let (Some(stream), Some((_, connection))) = (self.stream, &mut self.connection) else { return };
        let mut stream = connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(_)) = chunks.next(usize::MAX) {}
        let _ = chunks.finalize();
    }

    /// Notes the deadline, and the changes of the sender's state.
    fn note(&mut self, now: Time) {
        let Some((_, connection)) = &mut self.connection else { return };
        self.deadline = connection.poll_timeout().map(time);
        if !self.role.sends {
            return;
        }
        let remote = connection.remote_address();
        let stats = connection.stats().path;
        let cwnd = stats.cwnd as f64 / self.spec.datagram.0 as f64;
        let was = self.seen;
        self.seen = Seen { cwnd, losses: stats.congestion_events, remote: Some(remote), ..was };
        if was.remote.is_some_and(|was| was != remote) {
            self.record(SenderEventKind::Migration, self.number(self.progress.end()), now);
        } else if self.seen.losses > was.losses && cwnd < was.cwnd {
            // quinn counts each ACK that finds losses; it cuts the window once in a recovery (RFC 9002 §7.3.2).
            (self.seen.repairs, self.seen.cuts) = (true, was.cuts + 1);
        } else if cwnd != was.cwnd && was.remote.is_some() {
            self.record(SenderEventKind::Window, self.number(self.progress.end()), now);
        }
    }

    /// The number of the segment with this byte, from 1.
    fn number(&self, byte: u64) -> u32 {
        u32::try_from(byte / self.spec.segment().0 + 1).unwrap_or(u32::MAX)
    }

    fn record(&mut self, kind: SenderEventKind, seq: u32, at: Time) {
        let SenderVariables { cwnd, ssthresh, rto, srtt, .. } = self.variables();
        self.facts.push_back(SenderEvent { at, kind, seq, cwnd, ssthresh, rto, srtt });
    }

    /// When the end has to be woken.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// The time of a deadline has come; an early wake-up is a no-op.
    pub fn on_deadline(&mut self, now: Time) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(instant(now));
        }
        self.settle(now);
    }

    /// The next datagram to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<QuicPacket> {
        if std::mem::take(&mut self.opens) {
            self.connection = self.endpoint.connect(instant(now), client(&self.spec), SERVER, "server").ok();
        }
        if let Some((datagram, path)) = self.answers.pop_front() {
            return Some(self.packet(datagram, path, now));
        }
        self.settle(now);
        let (_, connection) = self.connection.as_mut()?;
        let mut datagram = Vec::new();
        let transmit = connection.poll_transmit(instant(now), 1, &mut datagram);
        self.deadline = connection.poll_timeout().map(time);
        let path = if self.role.is_client { self.path } else { path_of(transmit.as_ref()?.destination) };
        transmit.map(|_| self.packet(datagram, path, now))
    }

    /// A datagram as a packet, with its data for the record.
    fn packet(&mut self, datagram: Vec<u8>, path: u32, now: Time) -> QuicPacket {
        let contents = Contents::of(&datagram, CONNECTION_ID);
        let payload = contents.payload();
        let segment = contents.stream.first().map_or(0, |&(start, _)| self.number(start));
        let mut retransmission = false;
        if self.role.sends {
            for &range in &contents.stream {
                retransmission |= self.progress.insert(range) < range.1 - range.0;
            }
        }
        if retransmission && std::mem::take(&mut self.seen.repairs) {
            self.record(SenderEventKind::FastRetransmit, segment, now);
        }
        let expected = if self.role.sends { 0 } else { self.number(self.progress.base()) };
        let size = Bytes(datagram.len() as u64 + IP_UDP);
        let number = self.sent;
        self.sent += 1;
        let header = QuicHeader {
            number,
            segment,
            payload,
            handshake: contents.handshake && payload == 0,
            ping: contents.ping,
            path,
            path_challenge: contents.path_challenge,
            path_response: contents.path_response,
            expected,
            retransmission,
            datagram: Some(datagram.into()),
            ..QuicHeader::default()
        };
        QuicPacket { header, size }
    }

    /// The next fact, in the order in which they happened; call until `None`. A fast retransmit is the first packet sent
    /// again after a cut of the window.
    pub fn poll_fact(&mut self) -> Option<SenderEvent> {
        self.facts.pop_front()
    }

    /// True if a segment has arrived.
    pub fn has(&self, segment: u32) -> bool {
        let size = self.spec.segment().0;
        let start = u64::from(segment.saturating_sub(1)) * size;
        self.progress.contains((start, start + size))
    }

    /// Of a receiver: the next segment that it expects.
    pub fn next_segment(&self) -> u32 {
        self.number(self.progress.base())
    }

    /// The sender's variables. quinn tells neither its timeout nor the deviation of its round-trip time.
    pub fn variables(&self) -> SenderVariables {
        let Some((_, connection)) = &self.connection else { return SenderVariables::default() };
        let metrics = connection.congestion_state().metrics();
        let packets = |bytes: u64| bytes as f64 / self.spec.datagram.0 as f64;
        let srtt = duration(connection.rtt());
        SenderVariables {
            cwnd: packets(metrics.congestion_window),
            ssthresh: metrics.ssthresh.map_or(f64::INFINITY, packets),
            rtt: srtt,
            srtt,
            rttvar: Duration::ZERO,
            rto: Duration::ZERO,
            backoff: 1,
            timeouts: 0,
            reductions: self.seen.cuts,
        }
    }
}

fn endpoint(spec: &QuinnSpec, role: EndRole, seed: u64) -> Endpoint {
    let side = u8::from(role.is_client);
    let mut seeds = [side; 32];
    seeds[..8].copy_from_slice(&seed.to_le_bytes());
    let mut config = EndpointConfig::new(Arc::new(PlainKey));
    config.rng_seed(Some(seeds));
    config.cid_generator(move || Box::new(Numbered { next: 0, side }));
    let server = (!role.is_client).then(|| {
        let mut server = ServerConfig::new(Arc::new(PlainConfig), Arc::new(PlainKey));
        server.transport_config(transport(spec, false));
        Arc::new(server)
    });
    Endpoint::new(Arc::new(config), server, true, None)
}

fn client(spec: &QuinnSpec) -> ClientConfig {
    let mut client = ClientConfig::new(Arc::new(PlainConfig));
    client.transport_config(transport(spec, true));
    client.initial_dst_cid_provider(Arc::new(|| connection_id(2, 0)));
    client
}

/// quinn's parameters of a connection.
#[cfg_attr(not(feature = "qlog"), expect(unused_variables, reason = "a log has a name"))]
fn transport(spec: &QuinnSpec, is_client: bool) -> Arc<TransportConfig> {
    let control: Arc<dyn ControllerFactory + Send + Sync> = match spec.congestion_control {
        QuinnControl::Cubic => Arc::new(CubicConfig::default()),
        QuinnControl::NewReno => Arc::new(NewRenoConfig::default()),
    };
    let mut config = TransportConfig::default();
    config.initial_mtu(spec.datagram.0 as u16);
    config.mtu_discovery_config(None);
    config.max_idle_timeout(None);
    config.enable_segmentation_offload(false);
    config.congestion_controller_factory(control);
    #[cfg(feature = "qlog")]
    config.qlog_stream(crate::qlog::stream(is_client));
    Arc::new(config)
}
