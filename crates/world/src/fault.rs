//! Faults in the signalling, asked for by the scenario: the n-th message of a kind is lost or late.

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
    /// How late they set out; `None`: they are lost.
    pub delay: Option<Duration>,
    /// How many have been seen.
    pub seen: u32,
}

/// What a fault does to a message.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is lost.
    Lost,
    /// It sets out later.
    Late(Duration),
}

impl Fault {
    /// What this fault does to the message of this name about this host that is being sent.
    pub fn strike(&mut self, (name, host): (&str, Option<Addr>)) -> Option<Fate> {
        let concerned = name == self.message && (self.host.is_none() || self.host == host);
        if !concerned {
            return None;
        }
        self.seen += 1;
        self.occurrences.contains(&self.seen).then(|| self.delay.map_or(Fate::Lost, Fate::Late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Addr = Addr::new(1, 1);
    const OTHER: Addr = Addr::new(1, 2);

    fn fault(host: Option<Addr>, occurrences: &[u32], delay: Option<Duration>) -> Fault {
        Fault { message: "handoff-request".into(), host, occurrences: occurrences.into(), delay, seen: 0 }
    }

    fn request(host: Addr) -> (&'static str, Option<Addr>) {
        ("handoff-request", Some(host))
    }

    #[test]
    fn it_strikes_the_occurrences_it_names_and_no_others() {
        let mut lost = fault(None, &[1, 3], None);
        let fates: Vec<_> = (0..4).map(|_| lost.strike(request(HOST))).collect();
        assert_eq!(fates, [Some(Fate::Lost), None, Some(Fate::Lost), None]);
        let late = Duration::from_millis(5);
        assert_eq!(fault(None, &[1], Some(late)).strike(request(HOST)), Some(Fate::Late(late)));
    }

    #[test]
    fn other_hosts_and_other_messages_are_neither_struck_nor_counted() {
        let mut second_of_host = fault(Some(HOST), &[2], None);
        for message in [request(HOST), request(OTHER), ("notification", Some(HOST))] {
            assert_eq!(second_of_host.strike(message), None);
        }
        assert_eq!(second_of_host.strike(request(HOST)), Some(Fate::Lost));
    }
}
