//! A cryptographic session in plain text: nothing is secret in a simulation, and sizes repeat.
//!
//! The messages have the order of TLS 1.3 (RFC 9001 §4): ClientHello; ServerHello; the rest of the server's flight; the
//! client's Finished. Tags and samples have the sizes of AES-GCM (RFC 9001 §5.3, §5.4.3), and protect nothing.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Bytes of the tag of AEAD (RFC 9001 §5.3), and of the sample of the header protection (§5.4.2).
pub(crate) const TAG: usize = 16;
/// Bytes of a ClientHello.
///
/// ASSUMPTION: the sizes of the messages are those of TLS 1.3 with one key share and a short chain of certificates. The
/// transport parameters, some 120 bytes, are in the first and in the third, and padding fills it up: quinn draws one of
/// the parameters from the machine's randomness, and so its size.
const CLIENT_HELLO: usize = 320;
const SERVER_HELLO: usize = 90;
/// EncryptedExtensions, Certificate, CertificateVerify, Finished.
const SERVER_FLIGHT: usize = 1000;
const FINISHED: usize = 36;

/// A message: its length, the length of the transport parameters in it, and they; padded to `size` bytes.
fn message(size: usize, params: &[u8]) -> Vec<u8> {
    let size = size.max(params.len() + 4);
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(&(size as u16).to_be_bytes());
    bytes.extend_from_slice(&(params.len() as u16).to_be_bytes());
    bytes.extend_from_slice(params);
    bytes.resize(size, 0);
    bytes
}

/// Protects nothing.
struct Plain;

impl PacketKey for Plain {
    fn encrypt(&self, _packet: u64, buf: &mut [u8], _header_len: usize) {
        let start = buf.len().saturating_sub(TAG);
        buf[start..].fill(0);
    }

    fn decrypt(&self, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Plain), remote: Box::new(Plain) }
}

fn keys() -> Keys {
    Keys { header: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) }, packet: packet_keys() }
}

/// The next bytes to write.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Next {
    /// The client's ClientHello.
    ClientHello,
    /// The server's ServerHello, after which its handshake keys are there.
    ServerHello,
    /// The rest of the server's flight, after which its 1-RTT keys are there.
    ServerFlight,
    /// The client's handshake keys.
    HandshakeKeys,
    /// The client's Finished and its 1-RTT keys.
    Finished,
    /// Nothing before the other end's next message.
    Wait,
}

struct PlainSession {
    side: Side,
    params: Vec<u8>,
    peer_params: Option<Vec<u8>>,
    next: Next,
    /// Bytes of a message that is not there as a whole.
    partial: Vec<u8>,
    /// Messages of the other end that were read.
    messages: u32,
    told: bool,
}

impl PlainSession {
    fn new(side: Side, params: &TransportParameters) -> PlainSession {
        let mut bytes = Vec::new();
        params.write(&mut bytes);
        let next = if side.is_client() { Next::ClientHello } else { Next::Wait };
        let partial = Vec::new();
        PlainSession { side, params: bytes, peer_params: None, next, partial, messages: 0, told: false }
    }

    /// Messages that the other end sends: ServerHello and its flight, or ClientHello and Finished.
    const EXPECTED: u32 = 2;

    /// A whole message, if there is one.
    fn take_message(&mut self) -> Option<Vec<u8>> {
        let size = usize::from(u16::from_be_bytes(self.partial.get(..2)?.try_into().ok()?));
        if size < 4 || self.partial.len() < size {
            return None;
        }
        let rest = self.partial.split_off(size);
        Some(std::mem::replace(&mut self.partial, rest))
    }

    fn on_message(&mut self, message: &[u8]) {
        let length = usize::from(u16::from_be_bytes([message[2], message[3]]));
        if length > 0 {
            self.peer_params = message.get(4..4 + length).map(<[u8]>::to_vec);
        }
        self.messages += 1;
        self.next = match (self.side.is_client(), self.messages) {
            (false, 1) => Next::ServerHello,
            (true, 1) => Next::HandshakeKeys,
            (true, 2) => Next::Finished,
            _ => Next::Wait,
        };
    }
}

impl Session for PlainSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.told.then(|| Box::new(()) as Box<dyn Any>)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.messages < PlainSession::EXPECTED || self.next != Next::Wait
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend_from_slice(buf);
        while let Some(message) = self.take_message() {
            self.on_message(&message);
        }
        let tells = !self.told && self.peer_params.is_some();
        self.told |= tells;
        Ok(tells)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(bytes) = &self.peer_params else { return Ok(None) };
        Ok(Some(TransportParameters::read(self.side, &mut bytes.as_slice())?))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let (next, has_keys) = match self.next {
            Next::ClientHello => {
                buf.extend(message(CLIENT_HELLO, &self.params));
                (Next::Wait, false)
            }
            Next::ServerHello => {
                buf.extend(message(SERVER_HELLO, &[]));
                (Next::ServerFlight, true)
            }
            Next::ServerFlight => {
                buf.extend(message(SERVER_FLIGHT, &self.params));
                (Next::Wait, true)
            }
            Next::HandshakeKeys => (Next::Wait, true),
            Next::Finished => {
                buf.extend(message(FINISHED, &[]));
                (Next::Wait, true)
            }
            Next::Wait => (Next::Wait, false),
        };
        self.next = next;
        has_keys.then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false // no end asks for a retry
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// The configuration of both sides.
pub(crate) struct PlainConfig;

impl ClientConfig for PlainConfig {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(PlainSession::new(Side::Client, params)))
    }
}

impl ServerConfig for PlainConfig {
    fn initial_keys(&self, _version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(PlainSession::new(Side::Server, params))
    }
}

/// Signs nothing. Reset tokens and tokens of addresses are not secret either.
pub(crate) struct PlainKey;

impl HmacKey for PlainKey {
    /// Adds the bytes up, each to the output byte at its index modulo the length: different connection IDs get different tokens.
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let places = signature_out.len().max(1);
        signature_out.fill(0);
        for (place, byte) in data.iter().enumerate() {
            if let Some(out) = signature_out.get_mut(place % places) {
                *out = out.wrapping_add(*byte);
            }
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = vec![0; signature.len()];
        self.sign(data, &mut own);
        (own == signature).then_some(()).ok_or(CryptoError)
    }
}

impl HandshakeTokenKey for PlainKey {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(PlainKey)
    }
}

impl AeadKey for PlainKey {
    fn seal(&self, data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; TAG]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let length = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&mut data[..length])
    }
}
