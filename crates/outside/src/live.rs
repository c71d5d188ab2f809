//! This machine's own kernel, in real time. Two cards of it, TUN devices in separate namespaces, are two nodes of a
//! simulation, and a wall clock drives that. What a program sends by one card comes out of the other at the time that the
//! simulation gives.
//!
//! A wait ends with a packet or with the next event of the simulation: nothing spins.

use crate::error::Error;
use crate::socket::receive_some;
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{FlowId, wire};
use roamlab_scenario::Scenario;
use roamlab_world::NodeId;
use roamlab_world::{Datagram, Payload, Replication, RunOptions, Simulation, Table};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;
use std::num::NonZeroU64;
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// The longest packet of IPv4.
const LONGEST: usize = 65_535;

/// Packets that are read from a card before the simulation continues.
const BATCH: usize = 64;

/// An event that happens later than this is a late one.
const LATE_NS: u64 = 1_000_000;

/// A late simulation asks at each of this number of events whether the program has ended.
const ASKED: u64 = 64;

/// Time for which a late simulation continues after the end of its run.
const GRACE_NS: u64 = 1_000_000_000;

/// How a run in real time went.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// When it ended, in simulated time.
    pub end: Time,
    /// Of each packet that a card was handed: nanoseconds between the simulated instant and the instant at
    /// which the card had it.
    pub late_ns: Vec<u64>,
    /// Events of the simulation that were due while it ran.
    pub events: u64,
    /// Of them those that happened later than a millisecond behind their time: the simulation is slower than the clock.
    pub late_events: u64,
    /// Packets of the programs that were for neither node, and are lost.
    pub misaddressed: u64,
    /// Packets that a card did not take, and are lost.
    pub refused: u64,
}

/// One direction: the node that a program sends from.
struct End {
    node: NodeId,
    flow: FlowId,
    address: roamlab_packet::Addr,
}

/// A run in real time that has not begun.
pub struct Live {
    simulation: Simulation,
    ends: [End; 2],
    end: Time,
    /// Where the files of the cards come.
    socket: UnixStream,
}

/// The cards, and the file that shows that the program has ended.
struct Files {
    cards: [OwnedFd; 2],
    ended: OwnedFd,
}

impl Live {
    /// A checked scenario with two flows of programs, one each way, and the socket that takes its files in
    /// one message. These are the card of the first flow's sender, that of its receiver, and a file that can
    /// be read once the program has ended. Reads of the cards do not block.
    ///
    /// # Errors
    /// There are no two such flows, or no socket.
    pub fn new(
        scenario: &Scenario,
        draw: Replication,
        options: &RunOptions<'_>,
    ) -> Result<(Live, UnixStream), Error> {
        let simulation = Simulation::new(scenario, draw, options);
        let programs = scenario.flows.iter().filter(|flow| flow.is_of_program());
        let end = |name: &str, from: &str| {
            let (flow, node) = (simulation.flow(name)?, simulation.node(from)?);
            Some(End { node, flow, address: simulation.address(node) })
        };
        let ends: Option<Vec<End>> = programs.map(|flow| end(&flow.name, &flow.path[0])).collect();
        let ends = ends.and_then(|ends| ends.try_into().ok()).ok_or(Error::NoProgram)?;
        let (socket, theirs) = UnixStream::pair()?;
        let end = Time::ZERO + scenario.run.duration;
        Ok((Live { simulation, ends, end, socket }, theirs))
    }

    /// The addresses of both nodes.
    pub fn addresses(&self) -> [String; 2] {
        self.ends.each_ref().map(|end| end.address.to_string())
    }

    /// Runs until the program has ended or the run is over. Tables as of [`roamlab_world::run`].
    ///
    /// # Errors
    /// Those of a run; or files do not come, or cannot be waited for.
    pub fn run(self, options: &RunOptions<'_>) -> Result<(Vec<Table>, Timing), Error> {
        let Live { simulation, ends, end, socket } = self;
        let mut files = Vec::new();
        receive_some(&socket, &mut [0], &mut files)?;
        let [first, second, ended] = files.try_into().map_err(|_| Error::Stopped)?;
        let files = Files { cards: [first, second], ended };
        // As exact as the machine can; without it a wait takes 50 µs more.
        set_current_timer_slack(NonZeroU64::new(1))?;
        let mut run = Run { simulation, ends, timing: Timing::default(), clock: Clock::start(), end };
        let outcome = run.until(end, &files, options);
        set_current_timer_slack(None)?;
        outcome?;
        run.timing.end = run.simulation.now();
        Ok((run.simulation.finish(options)?, run.timing))
    }
}

/// The wall clock that drives a run: nothing else turns simulated times into those of the machine.
struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "a run in real time uses the machine's clock")]
    fn start() -> Clock {
        Clock(Instant::now())
    }

    /// The simulated time that it shows.
    fn now(&self) -> Time {
        Time::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    /// How long the machine has to wait until it shows this time.
    fn left(&self, time: Time) -> Timespec {
        let nanos = time.as_nanos().saturating_sub(self.now().as_nanos());
        Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
    }

    /// Nanoseconds of the machine since it showed this time.
    fn late_ns(&self, time: Time) -> u64 {
        self.now().as_nanos().saturating_sub(time.as_nanos())
    }
}

/// A run under way.
struct Run {
    simulation: Simulation,
    ends: [End; 2],
    timing: Timing,
    clock: Clock,
    end: Time,
}

/// True if the program has ended.
fn ended(files: &Files) -> Result<bool, Error> {
    let mut polled = [PollFd::new(&files.ended, PollFlags::IN)];
    match poll(&mut polled, Some(&Timespec::default())) {
        Ok(_) | Err(Errno::INTR) => Ok(!polled[0].revents().is_empty()),
        Err(other) => Err(other.into()),
    }
}

impl Run {
    fn until(&mut self, end: Time, files: &Files, options: &RunOptions<'_>) -> Result<(), Error> {
        let mut packet = vec![0; LONGEST];
        loop {
            let now = self.clock.now().min(end);
            if !self.advance(now, files, options)? || now >= end {
                return Ok(());
            }
            for side in 0..2 {
                if !self.take(side, files, &mut packet, options)? {
                    return Ok(());
                }
            }
            self.hand_out(files);
            if self.wait(end, files)? {
                return Ok(());
            }
        }
    }

    /// Lets happen what is due until now, event by event: nothing waits for what comes after it. Whether the run is still
    /// wanted.
    fn advance(&mut self, now: Time, files: &Files, options: &RunOptions<'_>) -> Result<bool, Error> {
        while let Some(next) = self.simulation.next_event().filter(|next| *next <= now) {
            let late_ns = self.clock.late_ns(next);
            self.timing.events += 1;
            self.timing.late_events += u64::from(late_ns > LATE_NS);
            let is_asked = late_ns > LATE_NS && self.timing.late_events.is_multiple_of(ASKED);
            let most_ns = GRACE_NS + self.end.as_nanos().saturating_sub(next.as_nanos());
            if is_asked && (late_ns > most_ns || ended(files)?) {
                return Ok(false);
            }
            if !self.simulation.advance_to(next, options)? {
                return Ok(false);
            }
            self.hand_out(files);
        }
        Ok(self.simulation.advance_to(now, options)?)
    }

    /// Takes packets from a card into the simulation, each at an instant after it was read: none is earlier
    /// at the other end than in the simulation. Whether the run is still wanted.
    fn take(
        &mut self,
        side: usize,
        files: &Files,
        packet: &mut [u8],
        options: &RunOptions<'_>,
    ) -> Result<bool, Error> {
        let End { node, flow, address: source } = self.ends[side];
        let destination = self.ends[1 - side].address;
        for _ in 0..BATCH {
            let Ok(length @ 1..) = rustix::io::read(&files.cards[side], &mut *packet) else { break };
            if !self.advance(self.clock.now(), files, options)? {
                return Ok(false);
            }
            let bytes = &packet[..length];
            match wire::addressed(bytes) {
                Some((ends, tos)) if ends == [source.octets(), destination.octets()] => {
                    let (size, payload) = (Bytes(length as u64), Payload::Written(bytes.into()));
                    let datagram = Datagram { flow, source, destination, tos, size, payload };
                    self.simulation.inject(node, &datagram);
                }
                // A card's own packets of IPv6 and of multicast are no program's.
                _ if bytes[0] >> 4 != 4 || bytes.get(16).is_some_and(|first| *first >= 224) => {}
                _ => self.timing.misaddressed += 1,
            }
        }
        Ok(true)
    }

    /// Hands the cards what has come out of the simulation.
    fn hand_out(&mut self, files: &Files) {
        while let Some(egress) = self.simulation.poll_egress() {
            let Payload::Written(mut bytes) = egress.datagram.payload else { continue };
            let Some(side) = self.ends.iter().position(|end| end.node == egress.node) else { continue };
            wire::remark(&mut bytes, egress.datagram.tos);
            if rustix::io::write(&files.cards[side], &bytes).is_err() {
                self.timing.refused += 1;
                continue;
            }
            self.timing.late_ns.push(self.clock.late_ns(egress.time));
        }
    }

    /// Waits for a packet, or the next event; whether the program has ended.
    fn wait(&mut self, end: Time, files: &Files) -> Result<bool, Error> {
        let timeout = self.clock.left(self.simulation.next_event().unwrap_or(end).min(end));
        let [first, second] = &files.cards;
        let mut polled = [first, second, &files.ended].map(|file| PollFd::new(file, PollFlags::IN));
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(!polled[2].revents().is_empty()),
            Err(other) => Err(other.into()),
        }
    }
}
