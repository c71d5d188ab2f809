//! A kernel and its network: the clock, the cards, and what is between them and the simulation.
//!
//! The kernel waits, and its clock knows when it wants to run next. The earlier of that and of what is next outside happens. A
//! frame that arrives is put into its card's ring; the card interrupts the kernel, which then runs freely until
//! the next thing outside. A frame that it sends is taken out of the ring in the middle of its run, at its time, and the
//! kernel has the interrupt for it before its run continues. Each message is answered before the next is sent, so there is no race.

use crate::error::Error;
use crate::socket::wait;
use crate::uml::agent::{Answer, answer};
use crate::uml::card::{Card, RX, TX};
use crate::uml::child::{Kernel, Load, Running, Sockets};
use crate::uml::time_travel::TimeTravel;
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

/// The network of a kernel, and all else that happens at times that the kernel does not choose. Times are the kernel's.
pub trait Outside {
    /// When something happens next.
    fn next(&mut self) -> u64;
    /// True if the run is still wanted.
    fn is_wanted(&self) -> bool;
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

/// In the kernel's time, in ns: it has its cards and its process within a second.
pub const LONGEST_START: u64 = 100_000_000_000;

fn still() -> io::Error {
    io::Error::other("it makes no progress, or has no card or no process after 100 s of its time")
}

/// An error if the kernel has ended, or if the run is not wanted.
fn go_on(child: &mut Running, is_wanted: bool) -> Result<(), Error> {
    match child.ended() {
        Some(how) => Err(io::Error::other(how).into()),
        None if is_wanted => Ok(()),
        None => Err(Error::Unwanted),
    }
}

impl Machine {
    /// Starts a kernel and returns when all of its cards are connected. While it waits it asks whether it `is_wanted`.
    pub fn boot(
        kernel: &Kernel,
        load: Load,
        seed: u64,
        mac: fn(usize) -> [u8; 6],
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Machine, Error> {
        let (mut child, sockets) = Running::start(kernel, load, seed)?;
        match Machine::connect(&mut child, sockets, mac, is_wanted) {
            Ok((clock, cards)) => {
                child.is_up();
                let (interrupts, frames) = (VecDeque::new(), Frames::new());
                Ok(Machine { clock, cards, interrupts, frames, child })
            }
            Err(Error::Kernel(error)) => Err(child.report(error)),
            Err(other) => Err(other),
        }
    }

    /// The clock and the cards of a kernel that starts.
    fn connect(
        child: &mut Running,
        Sockets { clock, cards: listeners }: Sockets,
        mac: fn(usize) -> [u8; 6],
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<(TimeTravel, Vec<Card>), Error> {
        let mut go_on = || go_on(child, is_wanted());
        wait(&[clock.as_fd()], &mut go_on)?;
        let mut clock = TimeTravel::new(clock.accept()?.0)?;
        let mut cards: Vec<Card> = Vec::new();
        while let Some(listener) = listeners.get(cards.len()) {
            let mut awaited = vec![listener.as_fd(), clock.socket.as_fd()];
            awaited.extend(cards.iter().map(Card::as_fd));
            let ready = wait(&awaited, &mut go_on)?;
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
                let time = clock.request.filter(|time| *time < LONGEST_START).ok_or_else(still)?;
                clock.run(time, 0)?;
            }
        }
        Ok((clock, cards))
    }

    /// Now, in ns since the kernel started.
    pub fn now(&self) -> u64 {
        self.clock.now
    }

    /// Runs until the outside is over; `first` are immediate frames for the kernel.
    pub fn run(&mut self, outside: &mut impl Outside, first: &mut Frames) -> Result<(), Error> {
        self.frames.append(first);
        self.run_on(outside).map_err(|error| match error {
            Error::Kernel(error) => self.child.report(error),
            Error::Stopped => self.child.report(still()),
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
            let child = &mut self.child;
            let ready = wait(&awaited, &mut || go_on(child, outside.is_wanted()))?;
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
        // The kernel is notified of its input before it continues.
        let is_quiet = self.interrupts.is_empty() && self.frames.is_empty();
        let until = if is_quiet { outside.next() } else { now };
        self.clock.limit(until)?;
        Ok(self.cards[host].done()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot(program: &str, is_wanted: &dyn Fn() -> bool) -> Error {
        let (_place, kernel) = crate::uml::child::tests::fake(program);
        let booted = Machine::boot(&kernel, Load { hosts: 2, flows: 1 }, 1, |_| [0; 6], is_wanted);
        booted.err().unwrap()
    }

    #[test]
    fn a_kernel_that_ends_in_its_boot_is_reported_at_once_with_its_console() {
        let error = boot("echo Kernel panic: no memory; exit 7", &|| true).to_string();
        assert!(error.contains("it has ended (exit status: 7)"), "{error}");
        assert!(error.contains("Kernel panic: no memory"), "{error}");
    }

    #[test]
    fn a_kernel_that_hangs_in_its_boot_is_left_when_the_run_is_not_wanted_any_more() {
        let left = std::cell::Cell::new(3);
        let error = boot("exec sleep 100", &|| left.replace(left.get() - 1) > 0);
        assert!(matches!(error, Error::Unwanted), "{error}");
        assert_eq!(left.get(), -1);
    }
}
