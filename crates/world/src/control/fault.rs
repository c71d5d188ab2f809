//! Faults of the signalling in a scenario: the n-th message of a kind is lost, late or sent twice.

use roamlab_engine::Duration;
use roamlab_packet::Addr;

/// A fault.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Name of the messages it concerns.
    pub message: String,
    /// Only messages about this host.
    pub host: Option<Addr>,
    /// Which of them, counted from 1.
    pub occurrences: Vec<u32>,
    /// How late they set out, or their copies; `None`: they are lost, or copied immediately.
    pub delay: Option<Duration>,
    /// They set out in time, and a copy of each.
    pub duplicate: bool,
    /// How many have been seen.
    pub seen: u32,
}

/// Effect of a fault on a message.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FaultAction {
    /// It is lost.
    Lose,
    /// It is sent later, by this time.
    Delay(Duration),
    /// It is sent, and a copy later, by this time.
    Duplicate(Duration),
}

impl Fault {
    /// Effect of this fault on the message of this name about this host that is being sent.
    pub fn apply(&mut self, (name, host): (&str, Option<Addr>)) -> Option<FaultAction> {
        let concerned = name == self.message && (self.host.is_none() || self.host == host);
        if !concerned {
            return None;
        }
        self.seen += 1;
        self.occurrences.contains(&self.seen).then(|| match (self.duplicate, self.delay) {
            (true, delay) => FaultAction::Duplicate(delay.unwrap_or(Duration::ZERO)),
            (false, Some(delay)) => FaultAction::Delay(delay),
            (false, None) => FaultAction::Lose,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Addr = Addr::new(1, 1);
    const OTHER: Addr = Addr::new(1, 2);

    fn fault(host: Option<Addr>, occurrences: &[u32], delay: Option<Duration>) -> Fault {
        let (message, occurrences) = ("handoff-request".into(), occurrences.into());
        Fault { message, host, occurrences, delay, duplicate: false, seen: 0 }
    }

    fn request(host: Addr) -> (&'static str, Option<Addr>) {
        ("handoff-request", Some(host))
    }

    #[test]
    fn it_applies_to_the_occurrences_it_names_and_no_others() {
        let mut lost = fault(None, &[1, 3], None);
        let actions: Vec<_> = (0..4).map(|_| lost.apply(request(HOST))).collect();
        assert_eq!(actions, [Some(FaultAction::Lose), None, Some(FaultAction::Lose), None]);
        let late = Duration::from_millis(5);
        assert_eq!(fault(None, &[1], Some(late)).apply(request(HOST)), Some(FaultAction::Delay(late)));
        for (delay, after) in [(None, Duration::ZERO), (Some(late), late)] {
            let mut twice = Fault { duplicate: true, ..fault(None, &[1], delay) };
            assert_eq!(twice.apply(request(HOST)), Some(FaultAction::Duplicate(after)));
        }
    }

    #[test]
    fn other_hosts_and_other_messages_are_neither_changed_nor_counted() {
        let mut second_of_host = fault(Some(HOST), &[2], None);
        for message in [request(HOST), request(OTHER), ("notification", Some(HOST))] {
            assert_eq!(second_of_host.apply(message), None);
        }
        assert_eq!(second_of_host.apply(request(HOST)), Some(FaultAction::Lose));
    }
}
