//! A network card of the kernel: the device's side of vhost-user with in-band notifications, and of split virtqueues.
//!
//! Sources: the vhost-user protocol (docs/interop/vhost-user.rst of QEMU), virtio 1.1 §2.6 (split virtqueues) and §5.1
//! (network device).

use crate::error::Error;
use crate::socket::{PATIENCE, receive_some, wait};
use crate::uml::memory::Memory;
use crate::uml::time_travel::TimeTravel;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

const REPLY: u32 = 4;
const NEED_REPLY: u32 = 8;
const F_VERSION_1: u64 = 1 << 32;
const F_PROTOCOL_FEATURES: u64 = 1 << 30;
const F_MAC: u64 = 1 << 5;
const P_REPLY_ACK: u64 = 1 << 3;
const P_BACKEND_REQ: u64 = 1 << 5;
const P_CONFIG: u64 = 1 << 9;
const P_INBAND: u64 = 1 << 14;

/// Requests of the protocol.
mod request {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const GET_QUEUE_NUM: u32 = 17;
    pub const SET_VRING_ENABLE: u32 = 18;
    pub const SET_BACKEND_REQ_FD: u32 = 21;
    pub const GET_CONFIG: u32 = 24;
    pub const VRING_KICK: u32 = 35;
    /// Of the card: a ring has news.
    pub const BACKEND_VRING_CALL: u32 = 4;
}

/// The ring of received frames, and that of frames to be sent.
pub const RX: usize = 0;
pub const TX: usize = 1;
/// The header before each frame (virtio 1.1 §5.1.6).
const HEADER: usize = 12;
/// The longest request: regions of memory, a configuration. It has a head.
const LONGEST: usize = 4096;
const HEAD: usize = 12;

#[derive(Default, Clone, Copy)]
struct Ring {
    size: u16,
    descriptors: u64,
    used: u64,
    available: u64,
    /// The next entry of `available` to look at.
    next: u16,
    next_used: u16,
}

/// A buffer of a ring: its head, and the addresses and lengths of its parts.
type Buffer = (u16, Vec<(u64, u32)>);

/// One network card.
pub struct Card {
    pub socket: UnixStream,
    /// Where interrupts go.
    interrupts: Option<UnixStream>,
    mac: [u8; 6],
    /// The kernel waits for an answer to each message, so that none begins behind the one that is read.
    is_waited_for: bool,
    memory: Memory,
    rings: [Ring; 2],
}

fn u32_at(body: &[u8], at: usize) -> io::Result<u32> {
    let bytes = body.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u32::from_ne_bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn u64_at(body: &[u8], at: usize) -> io::Result<u64> {
    Ok(u64::from(u32_at(body, at + 4)?) << 32 | u64::from(u32_at(body, at)?))
}

impl Card {
    /// A card that the kernel has just connected to.
    pub fn new(socket: UnixStream, mac: [u8; 6]) -> Card {
        Card {
            socket,
            interrupts: None,
            mac,
            is_waited_for: false,
            memory: Memory::default(),
            rings: <[Ring; 2]>::default(),
        }
    }

    /// Takes one message of the kernel and answers it, unless frames wait to be sent: `true`, and [`done`](Self::done) is
    /// the answer.
    pub fn serve(&mut self) -> io::Result<bool> {
        let (mut message, mut files) = ([0u8; LONGEST], Vec::new());
        let most = if self.is_waited_for { LONGEST } else { HEAD };
        let mut length = receive_some(&self.socket, &mut message[..most], &mut files)?;
        loop {
            let whole = if length < HEAD { HEAD } else { HEAD + u32_at(&message, 8)? as usize };
            if length >= whole {
                break;
            }
            let rest = message.get_mut(length..whole).ok_or(io::ErrorKind::InvalidData)?;
            length += receive_some(&self.socket, rest, &mut files)?;
        }
        let (number, flags) = (u32_at(&message, 0)?, u32_at(&message, 4)?);
        self.is_waited_for |= flags & NEED_REPLY != 0;
        let body = &mut message[HEAD..length];
        match number {
            request::GET_FEATURES => {
                self.reply(number, &(F_VERSION_1 | F_PROTOCOL_FEATURES | F_MAC).to_ne_bytes())?;
            }
            request::GET_PROTOCOL_FEATURES => {
                let features = P_REPLY_ACK | P_BACKEND_REQ | P_CONFIG | P_INBAND;
                self.reply(number, &features.to_ne_bytes())?;
            }
            request::GET_QUEUE_NUM => self.reply(number, &2u64.to_ne_bytes())?,
            request::GET_CONFIG => {
                body[12..].fill(0);
                let length = body.len().min(12 + 6);
                body[12..length].copy_from_slice(&self.mac[..length - 12]);
                self.reply(number, body)?;
            }
            request::SET_MEM_TABLE => {
                self.memory = Memory::default();
                for (place, file) in files.drain(..).enumerate() {
                    let at = 8 + 32 * place;
                    let part = (u64_at(body, at)?, u64_at(body, at + 8)?, u64_at(body, at + 24)?);
                    self.memory.add(part, file)?;
                }
            }
            request::SET_BACKEND_REQ_FD => {
                self.interrupts = files.pop().map(UnixStream::from);
                self.interrupts.iter().try_for_each(|one| one.set_read_timeout(Some(PATIENCE)))?;
            }
            request::VRING_KICK => {
                return Ok(u32_at(body, 0)? as usize == TX || self.done().map(|()| false)?);
            }
            request::SET_VRING_NUM
            | request::SET_VRING_BASE
            | request::SET_VRING_ADDR
            | request::SET_VRING_ENABLE => {
                self.set_ring(number, body)?;
            }
            _ => {}
        }
        if flags & NEED_REPLY != 0 {
            self.reply(number, &0u64.to_ne_bytes())?;
        }
        Ok(false)
    }

    fn set_ring(&mut self, number: u32, body: &[u8]) -> io::Result<()> {
        let which = u32_at(body, 0)? as usize;
        let ring = self.rings.get_mut(which).ok_or(io::ErrorKind::InvalidData)?;
        match number {
            request::SET_VRING_NUM => ring.size = u32_at(body, 4)? as u16,
            request::SET_VRING_BASE => {
                ring.next = u32_at(body, 4)? as u16;
                ring.next_used = ring.next;
            }
            request::SET_VRING_ADDR => {
                (ring.descriptors, ring.used, ring.available) =
                    (u64_at(body, 8)?, u64_at(body, 16)?, u64_at(body, 24)?);
            }
            // New receive buffers need no notice: they are looked for when a frame arrives.
            _ if which == RX => self.memory.write(ring.used, &1u16.to_le_bytes())?,
            _ => {}
        }
        Ok(())
    }

    /// Answers a kick: all that waited has been taken.
    pub fn done(&mut self) -> io::Result<()> {
        self.reply(request::VRING_KICK, &0u64.to_ne_bytes())
    }

    fn reply(&mut self, number: u32, body: &[u8]) -> io::Result<()> {
        self.socket.write_all(&packed(number, REPLY | 1, body))
    }

    /// Takes the next frame to be sent out of the ring.
    pub fn transmitted(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((head, chain)) = self.next(TX)? else { return Ok(None) };
        let mut frame = Vec::with_capacity(1600);
        for (address, length) in chain {
            let from = frame.len();
            frame.resize(from + length as usize, 0);
            self.memory.read(address, &mut frame[from..])?;
        }
        self.give_back(TX, head, 0)?;
        frame.drain(..HEADER.min(frame.len()));
        Ok(Some(frame))
    }

    /// Puts a frame into the ring of received ones; `false` if the kernel has no buffer for it yet.
    pub fn receive(&mut self, frame: &[u8]) -> io::Result<bool> {
        let Some((head, chain)) = self.next(RX)? else { return Ok(false) };
        let mut data = vec![0u8; HEADER];
        data[10] = 1; // one buffer
        data.extend_from_slice(frame);
        let mut rest = &data[..];
        for (address, length) in chain {
            let (now, later) = rest.split_at(rest.len().min(length as usize));
            self.memory.write(address, now)?;
            rest = later;
        }
        self.give_back(RX, head, data.len() as u32)?;
        Ok(true)
    }

    /// The next buffer of a ring.
    fn next(&mut self, which: usize) -> io::Result<Option<Buffer>> {
        let ring = self.rings[which];
        if ring.size == 0 || self.memory.u16(ring.available + 2)? == ring.next {
            return Ok(None);
        }
        let entry = u64::from(ring.next % ring.size);
        let head = self.memory.u16(ring.available + 4 + 2 * entry)?;
        self.rings[which].next = ring.next.wrapping_add(1);
        let (mut chain, mut at) = (Vec::new(), head);
        for _ in 0..ring.size {
            let mut descriptor = [0u8; 16];
            self.memory.read(ring.descriptors + 16 * u64::from(at), &mut descriptor)?;
            chain.push((u64_at(&descriptor, 0)?, u32_at(&descriptor, 8)?));
            let flags = u16::from_le_bytes([descriptor[12], descriptor[13]]);
            if flags & 1 == 0 {
                return Ok(Some((head, chain)));
            }
            at = u16::from_le_bytes([descriptor[14], descriptor[15]]);
        }
        Err(io::Error::other("a buffer of the kernel has no end"))
    }

    fn give_back(&mut self, which: usize, head: u16, length: u32) -> io::Result<()> {
        let ring = self.rings[which];
        let at = ring.used + 4 + 8 * u64::from(ring.next_used % ring.size);
        let mut element = [0u8; 8];
        element[..4].copy_from_slice(&u32::from(head).to_le_bytes());
        element[4..].copy_from_slice(&length.to_le_bytes());
        self.memory.write(at, &element)?;
        let next = ring.next_used.wrapping_add(1);
        self.rings[which].next_used = next;
        self.memory.write(ring.used + 2, &next.to_le_bytes())
    }

    /// True if the kernel wants a notice of new entries in a ring.
    pub fn wants_interrupt(&self, which: usize) -> io::Result<bool> {
        let ring = self.rings[which];
        Ok(ring.size > 0 && self.memory.u16(ring.available)? & 1 == 0)
    }

    /// Interrupts the kernel: a ring has news. A waiting kernel asks its clock for a turn. One that waits for the answer to a
    /// kick takes the interrupt at the time of the kick, before its run continues.
    pub fn interrupt(&mut self, which: usize, clock: &mut TimeTravel) -> Result<(), Error> {
        let Some(interrupts) = &mut self.interrupts else { return Ok(()) };
        // The signal of an interrupt comes before the answer that is written after it. With a shared file nothing is asked.
        let is_answered = clock.is_waiting || !clock.shares();
        let flags = if is_answered { 1 | NEED_REPLY } else { 1 };
        let mut body = [0u8; 8];
        body[..4].copy_from_slice(&(which as u32).to_ne_bytes());
        interrupts.write_all(&packed(request::BACKEND_VRING_CALL, flags, &body))?;
        if !is_answered {
            return Ok(());
        }
        // With a shared file the kernel asks nothing before it answers.
        while !clock.shares() {
            let ready = wait(&[clock.socket.as_fd(), interrupts.as_fd()], &mut || Ok(()))?;
            if ready[0] {
                clock.serve()?;
            } else if ready[1] {
                break;
            }
        }
        Ok(interrupts.read_exact(&mut [0u8; 20])?)
    }

    /// Files to wait for.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn packed(number: u32, flags: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(12 + body.len());
    for word in [number, flags, body.len() as u32] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.extend_from_slice(body);
    bytes
}
