//! The clock of the kernel: the other side of User Mode Linux's external time travel.
//!
//! The protocol is that of `include/uapi/linux/um_timetravel.h`: messages of 16 bytes over a socket. From Linux 6.12 on
//! a shared file replaces most of them.

use crate::socket::{PATIENCE, send_with_files};
use crate::uml::memory::Memory;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const FREE_UNTIL: u32 = 7;
const GET_TOD: u32 = 8;

/// Time of day at the kernel's time 0, in ns: one constant for all runs.
const EPOCH: u64 = 1_700_000_000_000_000_000;

/// The shared file (`struct um_timetravel_schedshm`): a header, then a place for each party; ours is 0, the kernel's 1.
const SHARED: u64 = 4096 + 2 * 128;
const VERSION: u32 = 2;
const VERSION_AT: u64 = 0;
const LENGTH_AT: u64 = 4;
const FREE_UNTIL_AT: u64 = 8;
const NOW_AT: u64 = 16;
const RUNNING_AT: u64 = 24;
const MOST_AT: u64 = 26;
const OURS_AT: u64 = 4096;
const THEIRS_AT: u64 = 4096 + 128;
const THEIR_FLAGS_AT: u64 = THEIRS_AT + 4;
const REQUEST_AT: u64 = THEIRS_AT + 8;

struct Message {
    operation: u32,
    number: u32,
    time: u64,
}

/// The clock of one kernel. Times are in ns since the kernel started.
pub struct TimeTravel {
    pub socket: UnixStream,
    file: OwnedFd,
    shared: Memory,
    shares: bool,
    pub is_waiting: bool,
    /// Now.
    pub now: u64,
    /// When the kernel wants to run next.
    pub request: Option<u64>,
    /// Until when, exclusively, it advances the clock itself.
    free_until: u64,
    number: u32,
}

impl TimeTravel {
    /// The clock of a kernel that has just connected.
    pub fn new(socket: UnixStream) -> io::Result<TimeTravel> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let file = memfd_create("schedule", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, SHARED)?;
        let mut shared = Memory::default();
        shared.add((0, SHARED, 0), file.try_clone()?)?;
        let new = TimeTravel {
            socket,
            file,
            shared,
            shares: false,
            is_waiting: false,
            now: 0,
            request: None,
            free_until: 0,
            number: 0,
        };
        new.put(VERSION_AT, &VERSION.to_ne_bytes())?;
        new.put(LENGTH_AT, &(SHARED as u32).to_ne_bytes())?;
        new.put(RUNNING_AT, &1u16.to_ne_bytes())?;
        new.put(MOST_AT, &2u16.to_ne_bytes())?;
        new.put(OURS_AT, &1u32.to_ne_bytes())?; // we can share, too
        Ok(new)
    }

    /// True if the shared file replaces messages.
    pub fn shares(&self) -> bool {
        self.shares
    }

    fn get<const N: usize>(&self, at: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.shared.read(at, &mut bytes)?;
        Ok(bytes)
    }

    fn put(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.shared.write(at, bytes)
    }

    fn read(&mut self) -> io::Result<Message> {
        let mut bytes = [0u8; 16];
        self.socket.read_exact(&mut bytes)?;
        let [a, b, low, high] = std::array::from_fn(|word| {
            let at = 4 * word;
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        });
        Ok(Message { operation: a, number: b, time: u64::from(high) << 32 | u64::from(low) })
    }

    fn write(&mut self, operation: u32, number: u32, time: u64) -> io::Result<()> {
        self.socket.write_all(&message(operation, number, time))
    }

    /// Takes one message of the kernel. Its number, if it is an acknowledgement.
    pub fn serve(&mut self) -> io::Result<Option<u32>> {
        let message = self.read()?;
        let mut time = 0;
        // The kernel announces sharing before its next message.
        self.shares = u32::from_ne_bytes(self.get(THEIRS_AT)?) & 1 != 0;
        match message.operation {
            ACK => return Ok(Some(message.number)),
            START => return self.start(message.number).map(|()| None),
            REQUEST => self.request = Some(message.time),
            WAIT => {
                self.is_waiting = true;
                self.free_until = 0;
                if self.shares {
                    self.kicked()?;
                    self.put(RUNNING_AT, &0u16.to_ne_bytes())?;
                    return self.read_request().map(|()| None);
                }
            }
            GET => time = self.now,
            UPDATE => self.now = self.now.max(message.time),
            GET_TOD => time = EPOCH,
            other => return Err(io::Error::other(format!("the kernel's clock sent {other}"))),
        }
        self.write(ACK, message.number, time)?;
        Ok(None)
    }

    /// Request of the waiting kernel, now that it has been interrupted.
    pub fn read_request(&mut self) -> io::Result<()> {
        if self.shares {
            let asks = u32::from_ne_bytes(self.get(THEIR_FLAGS_AT)?) & 1 != 0;
            self.request = if asks { Some(u64::from_ne_bytes(self.get(REQUEST_AT)?)) } else { None };
        }
        Ok(())
    }

    /// Answers the first message with the shared file. Linux 6.12 takes two files whether they are there or not: the other one
    /// is for a log.
    fn start(&mut self, number: u32) -> io::Result<()> {
        let log = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
        let ours = 1; // our place in the file's list, and the kernel's name there
        send_with_files(&self.socket, &message(ACK, number, ours), &[self.file.as_fd(), log.as_fd()])
    }

    /// Sends a message and serves the kernel until it has acknowledged it.
    fn send(&mut self, operation: u32, time: u64) -> io::Result<()> {
        self.number += 1;
        let number = self.number;
        self.write(operation, number, time)?;
        while self.serve()? != Some(number) {}
        Ok(())
    }

    /// Tells the time at which the kernel is notified of an interrupt.
    pub fn before_interrupt(&mut self) -> io::Result<()> {
        if self.shares { self.put(NOW_AT, &self.now.to_ne_bytes()) } else { Ok(()) }
    }

    /// Lets the waiting kernel run at `time`, and without a message before `until`.
    pub fn run(&mut self, time: u64, until: u64) -> io::Result<()> {
        self.now = time;
        self.request = None;
        self.free_until = until;
        self.is_waiting = false;
        if self.shares {
            self.put(NOW_AT, &time.to_ne_bytes())?;
            self.put(FREE_UNTIL_AT, &until.to_ne_bytes())?;
            self.put(RUNNING_AT, &1u16.to_ne_bytes())?;
            self.number += 1;
            return self.write(RUN, self.number, time);
        }
        if until > time {
            self.send(FREE_UNTIL, until)?;
        }
        self.send(RUN, time)
    }

    /// The running kernel has sent something: what time it is.
    pub fn kicked(&mut self) -> io::Result<u64> {
        if self.shares {
            self.now = self.now.max(u64::from_ne_bytes(self.get(NOW_AT)?));
        }
        Ok(self.now)
    }

    /// Withdraws a running kernel's permission to run alone at `until` and later.
    pub fn limit(&mut self, until: u64) -> io::Result<()> {
        if self.is_waiting || until >= self.free_until {
            return Ok(());
        }
        self.free_until = until;
        if self.shares { self.put(FREE_UNTIL_AT, &until.to_ne_bytes()) } else { self.send(FREE_UNTIL, until) }
    }
}

fn message(operation: u32, number: u32, time: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&operation.to_ne_bytes());
    bytes[4..8].copy_from_slice(&number.to_ne_bytes());
    bytes[8..].copy_from_slice(&time.to_ne_bytes());
    bytes
}
