//! Authentication of a user: a node lets a host's request in when a server has answered that it knows the user.

use crate::backoff::Backoff;
use crate::{Identification, Refusal, Topology, matches};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Authentication, authorisation and accounting (AAA): the server that knows the users.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Authentication {
    /// The node of the server.
    pub server: String,
    /// Hosts that it refuses, by name or pattern. Default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuses: Vec<String>,
}

/// First repetition of a question to the server; each later one waits twice as long. ASSUMPTION: no source gives it.
const RETRANSMIT: Duration = Duration::from_millis(100);

/// Longest time between two of them.
const RETRANSMIT_LIMIT: Duration = Duration::from_secs(1);

/// Repetitions; after them the next request of the host has it asked again.
const RETRIES: u32 = 5;

impl Authentication {
    /// Refuses what cannot run.
    ///
    /// # Errors
    /// The field of `authentication`, and what to write instead.
    pub fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        let routers = || topology.routers.iter().map(String::as_str);
        if routers().all(|known| known != self.server) {
            let refusal =
                Refusal::at("authentication.server", format!("there is no node \"{}\"", self.server));
            return Err(refusal.known(&self.server, routers()));
        }
        let names = || topology.hosts.iter().map(|host| host.name.as_str());
        for (number, pattern) in self.refuses.iter().enumerate() {
            if names().all(|name| !matches(pattern, name)) {
                let field = format!("authentication.refuses[{number}]");
                return Err(
                    Refusal::at(field, format!("there is no host \"{pattern}\"")).known(pattern, names())
                );
            }
        }
        Ok(())
    }

    /// The addresses of the server and of the hosts that it refuses.
    pub fn addresses(&self, topology: &Topology) -> (Addr, BTreeSet<Addr>) {
        let is_refused = |name: &str| self.refuses.iter().any(|pattern| matches(pattern, name));
        let hosts = topology.hosts.iter().filter(|host| is_refused(&host.name));
        (topology.address(&self.server), hosts.map(|host| topology.address(&host.name)).collect())
    }
}

/// The fate of a request.
#[derive(PartialEq, Eq, Debug)]
pub enum Knock<R> {
    /// It is let in.
    In(R),
    /// It waits; the server is to be asked with this identification.
    Ask(Identification),
    /// It waits for an answer.
    Wait,
}

/// The hosts that have been let in at a node, and the requests of those about whom the server has been asked.
#[derive(Clone, Debug)]
pub struct Gate<R> {
    /// Without one all are let in.
    pub server: Option<Addr>,
    users: BTreeMap<Addr, User<R>>,
}

#[derive(Clone, Debug)]
enum User<R> {
    Asked {
        /// Of the question.
        id: Identification,
        /// The request that waits.
        request: (Identification, R),
        /// When it is asked again, and how often yet; `None`: at the next request.
        again: Option<(Backoff, u32)>,
    },
    Admitted,
}

impl<R> Gate<R> {
    /// A gate that asks this server; `None`: an open one.
    pub fn new(server: Option<Addr>) -> Gate<R> {
        Gate { server, users: BTreeMap::new() }
    }

    /// A host's request comes, with this identification. The last one waits.
    pub fn knock(&mut self, (host, id): (Addr, Identification), what: R, now: Time) -> Knock<R> {
        if self.server.is_none() {
            return Knock::In(what);
        }
        match self.users.get_mut(&host) {
            Some(User::Admitted) => Knock::In(what),
            Some(User::Asked { id: asked, request, again }) => {
                if id >= request.0 {
                    *request = (id, what);
                }
                if again.is_some() {
                    return Knock::Wait;
                }
                *again = first(now);
                Knock::Ask(*asked)
            }
            None => {
                self.users.insert(host, User::Asked { id, request: (id, what), again: first(now) });
                Knock::Ask(id)
            }
        }
    }

    /// The server answers a question: the request that waited, with its identification, if it is let in.
    pub fn answered(
        &mut self,
        (host, asked): (Addr, Identification),
        accepted: bool,
    ) -> Option<(Identification, R)> {
        if !matches!(self.users.get(&host), Some(User::Asked { id, .. }) if *id == asked) {
            return None;
        }
        let Some(User::Asked { request, .. }) = self.users.remove(&host) else { return None };
        if accepted {
            self.users.insert(host, User::Admitted);
        }
        accepted.then_some(request)
    }

    /// The host is not here any more.
    pub fn forget(&mut self, host: Addr) {
        self.users.remove(&host);
    }

    /// The questions to be repeated now.
    pub fn on_time(&mut self, now: Time) -> Vec<(Addr, Identification)> {
        let mut due = Vec::new();
        for (&host, user) in &mut self.users {
            if let User::Asked { id, again: timer, .. } = user
                && let Some((again, left)) = timer.filter(|(again, _)| again.at <= now)
            {
                *timer = (left > 1).then(|| (again.again(now), left - 1));
                due.push((host, *id));
            }
        }
        due
    }

    /// When that is.
    pub fn deadlines(&self) -> impl Iterator<Item = Time> {
        self.users.values().filter_map(|user| match user {
            User::Asked { again, .. } => again.map(|(again, _)| again.at),
            User::Admitted => None,
        })
    }
}

fn first(now: Time) -> Option<(Backoff, u32)> {
    Some((Backoff::start(now, RETRANSMIT, RETRANSMIT_LIMIT), RETRIES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{HOST, id, ms};

    #[test]
    fn the_last_request_waits_for_the_answer_to_the_first_question() {
        let mut gate = Gate::new(Some(Addr::node(1)));
        assert_eq!(gate.knock((HOST, id(5)), 'a', ms(5)), Knock::Ask(id(5)));
        assert_eq!(gate.knock((HOST, id(7)), 'b', ms(7)), Knock::Wait);
        assert_eq!(gate.knock((HOST, id(6)), 'c', ms(8)), Knock::Wait);
        assert_eq!(gate.answered((HOST, id(7)), true), None, "no question had that number");
        assert_eq!(gate.answered((HOST, id(5)), true), Some((id(7), 'b')));
        assert_eq!(gate.knock((HOST, id(9)), 'd', ms(9)), Knock::In('d'));
        gate.forget(HOST);
        assert_eq!(gate.knock((HOST, id(10)), 'e', ms(10)), Knock::Ask(id(10)));
        assert_eq!(gate.answered((HOST, id(10)), false), None);
        assert_eq!(gate.knock((HOST, id(11)), 'f', ms(11)), Knock::Ask(id(11)), "it asks again");
        assert_eq!(Gate::new(None).knock((HOST, id(1)), 'g', ms(1)), Knock::In('g'));
    }

    #[test]
    fn a_question_is_repeated_five_times() {
        let mut gate = Gate::new(Some(Addr::node(1)));
        gate.knock((HOST, id(0)), (), ms(0));
        let mut times = Vec::new();
        loop {
            let Some(at) = gate.deadlines().next() else { break };
            assert_eq!(gate.on_time(at), [(HOST, id(0))]);
            times.push(at);
        }
        assert_eq!(times, [100, 300, 700, 1_500, 2_500].map(ms));
        assert_eq!(gate.knock((HOST, id(9)), (), ms(9)), Knock::Ask(id(0)), "a late answer counts");
    }
}
