//! A kernel and its network: the clock, the cards, and what is between them and the simulation.
//!
//! The kernel waits, and its clock knows when it wants to run next. The earlier of that and of what is next outside happens. A
//! frame that arrives is put into its card's ring; the card interrupts the kernel, which then runs freely until
//! the next thing outside. A frame that it sends is taken out of the ring in the middle of its run, at its time, and the
//! kernel has the interrupt for it before its run continues. Each message is answered before the next is sent, so there is no race.

use crate::agent::{Answer, answer};
use crate::card::{Card, RX, TX};
use crate::child::{Kernel, Load, Running, Sockets};
use crate::error::Error;
use crate::socket::wait;
use crate::time_travel::TimeTravel;
use std::collections::VecDeque;
use std::os::fd::AsFd;

/// The network of a kernel, and all else that happens at times that the kernel does not choose. Times are the kernel's.
pub trait Outside {
    /// When something happens next.
    fn next(&mut self) -> u64;
    /// It is `time`: what is due happens. `false`: it is over.
    fn happen(&mut self, time: u64, frames: &mut Frames) -> Result<bool, Error>;
    /// A host sends a frame.
    fn send(&mut self, host: usize, frame: &[u8], time: u64, frames: &mut Frames) -> Result<(), Error>;
    /// The process in the kernel answers.
    fn answered(&mut self, answer: Answer, time: u64) -> Result<(), Error>;
}

/// Frames for hosts, in order.
pub type Frames = VecDeque<(usize, Vec<u8>)>;

/// A running kernel.
pub struct Machine {
    clock: TimeTravel,
    cards: Vec<Card>,
    /// Cards whose frames have come: their interrupts are to be sent now, once the kernel waits.
    interrupts: VecDeque<usize>,
    frames: Frames,
    child: Running,
}

impl Machine {
    /// Starts a kernel and returns when all of its cards are connected.
    pub fn boot(kernel: &Kernel, load: Load, seed: u64, mac: fn(usize) -> [u8; 6]) -> Result<Machine, Error> {
        let (mut child, Sockets { clock, cards: listeners }) = Running::start(kernel, load, seed)?;
        wait(&[clock.as_fd()])?;
        let mut clock = TimeTravel::new(clock.accept()?.0)?;
        let mut cards: Vec<Card> = Vec::new();
        while let Some(listener) = listeners.get(cards.len()) {
            let mut awaited = vec![listener.as_fd(), clock.socket.as_fd()];
            awaited.extend(cards.iter().map(Card::as_fd));
            let ready = wait(&awaited)?;
            if ready[0] {
                cards.push(Card::new(listener.accept()?.0, mac(cards.len())));
                continue;
            }
            if ready[1] {
                clock.serve()?;
            }
            for (card, _) in cards.iter_mut().zip(&ready[2..]).filter(|(_, ready)| **ready) {
                if card.serve()? {
                    card.done()?;
                }
            }
            if clock.is_waiting {
                let time = clock.request.ok_or(Error::Stopped)?;
                clock.run(time, 0)?;
            }
        }
        child.is_up();
        let (interrupts, frames) = (VecDeque::new(), Frames::new());
        Ok(Machine { clock, cards, interrupts, frames, child })
    }

    /// Now, in ns since the kernel started.
    pub fn now(&self) -> u64 {
        self.clock.now
    }

    /// Runs until the outside is over; `first` are frames for the kernel at once.
    pub fn run(&mut self, outside: &mut impl Outside, first: &mut Frames) -> Result<(), Error> {
        self.frames.append(first);
        self.run_on(outside).map_err(|error| match error {
            Error::Kernel(error) => Error::Ended(error, self.child.last_words()),
            other => other,
        })
    }

    /// The kernel is let run when it has asked to, and never at another time: an interrupt makes it ask for now, unless it
    /// takes none now. Then it asks again later.
    fn run_on(&mut self, outside: &mut impl Outside) -> Result<(), Error> {
        loop {
            self.serve(outside)?;
            self.take_frames()?;
            while let Some(card) = self.interrupts.pop_front() {
                self.clock.before_interrupt()?;
                self.cards[card].interrupt(RX, &mut self.clock)?;
                self.clock.read_request()?;
            }
            let asked = self.clock.request.unwrap_or(u64::MAX);
            let next = outside.next();
            if self.frames.is_empty() && next <= asked {
                self.clock.now = self.clock.now.max(next);
                if !outside.happen(next, &mut self.frames)? {
                    return Ok(());
                }
                continue;
            }
            if asked == u64::MAX {
                return Err(Error::Stopped);
            }
            self.clock.run(asked, if self.frames.is_empty() { next } else { asked })?;
        }
    }

    /// Puts frames into the rings of their cards, as far as there are buffers.
    fn take_frames(&mut self) -> Result<(), Error> {
        for _ in 0..self.frames.len() {
            let Some((host, frame)) = self.frames.pop_front() else { break };
            let card = &mut self.cards[host];
            if card.receive(&frame)? {
                if card.wants_interrupt(RX)? && !self.interrupts.contains(&host) {
                    self.interrupts.push_back(host);
                }
            } else {
                self.frames.push_back((host, frame));
            }
        }
        Ok(())
    }

    /// Serves whatever the running kernel asks for, until it waits.
    fn serve(&mut self, outside: &mut impl Outside) -> Result<(), Error> {
        while !self.clock.is_waiting {
            let mut awaited = vec![self.clock.socket.as_fd()];
            awaited.extend(self.cards.iter().map(Card::as_fd));
            let ready = wait(&awaited)?;
            if ready[0] {
                self.clock.serve()?;
            }
            for (host, _) in ready[1..].iter().enumerate().filter(|(_, ready)| **ready) {
                if self.cards[host].serve()? {
                    self.kick(host, outside)?;
                }
            }
        }
        Ok(())
    }

    /// A card has frames to send.
    fn kick(&mut self, host: usize, outside: &mut impl Outside) -> Result<(), Error> {
        let now = self.clock.kicked()?;
        let mut any = false;
        while let Some(frame) = self.cards[host].transmitted()? {
            any = true;
            match answer(&frame) {
                Some(answer) => outside.answered(answer, now)?,
                None => outside.send(host, &frame, now, &mut self.frames)?,
            }
        }
        if any && self.cards[host].wants_interrupt(TX)? {
            self.cards[host].interrupt(TX, &mut self.clock)?;
        }
        // The kernel hears of what is for it before it goes on.
        let is_quiet = self.interrupts.is_empty() && self.frames.is_empty();
        let until = if is_quiet { outside.next() } else { now };
        self.clock.limit(until)?;
        Ok(self.cards[host].done()?)
    }
}
