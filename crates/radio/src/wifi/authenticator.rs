//! The base station's side of a host's authentication: EAP with a server, then the four-way handshake.
//!
//! ```text
//!   station                     base station                 server
//!      |  eap-request (1: identity)  |                          |    with EAP, `eap_rounds` times
//!      |<----------------------------|                          |
//!      |  eap-response               |  radius-request          |
//!      |---------------------------->|------------------------->|
//!      |                             |  radius-answer           |    with the next request, or at the end with the key
//!      |                             |<-------------------------|
//!      |  key-message-1              |                          |
//!      |<----------------------------|                          |
//!      |  key-message-2              |                          |
//!      |---------------------------->|                          |
//!      |  key-message-3              |                          |
//!      |<----------------------------|                          |
//!      |  key-message-4              |                          |    data pass from here on
//!      |---------------------------->|                          |
//! ```
//!
//! Sources: IEEE Std 802.11-2007 §8.4.6, §8.5.3; RFC 3748 §4.3. Like the station, the automaton has no clock and sends
//! nothing.
//!
//! ASSUMPTION: the times of hostapd: a key message without an answer is repeated after 100 ms, then after 1 s each, and
//! sent four times in all. A request of EAP is sent four times, 3 s apart (RFC 3748 §4.3 has 3 s at first).
//!
//! ASSUMPTION: EAP's success goes with the first key message. Stations compute in no time.

use roamlab_engine::{Duration, Time};

const KEY_TRIES: u32 = 4;
const KEY_TIMEOUTS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
const EAP_TRIES: u32 = 4;
const EAP_TIMEOUT: Duration = Duration::from_secs(3);

/// Inputs of an authenticator.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AuthenticatorEvent {
    /// The station's response to the request of EAP with this number.
    EapResponse(u32),
    /// The server's answer to the response with this number.
    ServerAnswer(u32),
    /// The second or fourth message of the four-way handshake.
    KeyMessage(u32),
    /// The time that [`Authenticator::next_deadline`] gave has come.
    Deadline,
}

/// Actions of an authenticator.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AuthenticatorAction {
    /// It sends the request of EAP with this number, from 1 on.
    EapRequest(u32),
    /// It gives the response with this number to the server.
    AskServer(u32),
    /// It sends the first or third message of the four-way handshake.
    KeyMessage(u32),
    /// Data pass from now on.
    Authorise,
    /// It gives up the station.
    Fail,
}

/// The input that an authenticator waits for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Step {
    /// The response to the request with this number.
    Station(u32),
    /// The server's answer to the response with this number.
    Server(u32),
    /// The answer to this message of the four-way handshake, 1 or 3.
    Key(u32),
    /// Nothing.
    Over,
}

/// The authentication of one host at one base station.
#[derive(Clone, Debug)]
pub struct Authenticator {
    rounds: u32,
    step: Step,
    /// How often the last request was sent.
    sent: u32,
    deadline: Option<Time>,
}

impl Authenticator {
    /// It begins: with this number of rounds of EAP, or with the four-way handshake if that is 0.
    pub fn begin(rounds: u32, now: Time, out: &mut Vec<AuthenticatorAction>) -> Authenticator {
        let step = if rounds > 0 { Step::Station(1) } else { Step::Key(1) };
        let mut new = Authenticator { rounds, step, sent: 0, deadline: None };
        new.send(now, out);
        new
    }

    /// When it wants [`AuthenticatorEvent::Deadline`]; `None`: never.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Takes an input; its actions are appended to `out`.
    pub fn on(&mut self, heard: AuthenticatorEvent, now: Time, out: &mut Vec<AuthenticatorAction>) {
        match (heard, self.step) {
            (AuthenticatorEvent::EapResponse(round), Step::Station(waits)) if round == waits => {
                (self.step, self.deadline) = (Step::Server(round), None);
                out.push(AuthenticatorAction::AskServer(round));
            }
            (AuthenticatorEvent::ServerAnswer(round), Step::Server(waits)) if round == waits => {
                self.step = if round < self.rounds { Step::Station(round + 1) } else { Step::Key(1) };
                self.sent = 0;
                self.send(now, out);
            }
            (AuthenticatorEvent::KeyMessage(2), Step::Key(1)) => {
                (self.step, self.sent) = (Step::Key(3), 0);
                self.send(now, out);
            }
            (AuthenticatorEvent::KeyMessage(4), Step::Key(3)) => {
                (self.step, self.deadline) = (Step::Over, None);
                out.push(AuthenticatorAction::Authorise);
            }
            (AuthenticatorEvent::Deadline, _) if self.deadline.is_some_and(|deadline| deadline <= now) => {
                self.send(now, out);
            }
            _ => {}
        }
    }

    /// Sends the request without an answer again, or gives up.
    fn send(&mut self, now: Time, out: &mut Vec<AuthenticatorAction>) {
        let (tries, wait, action) = match self.step {
            Step::Station(round) => (EAP_TRIES, EAP_TIMEOUT, AuthenticatorAction::EapRequest(round)),
            Step::Key(message) => {
                let wait = KEY_TIMEOUTS[usize::from(self.sent > 0)];
                (KEY_TRIES, wait, AuthenticatorAction::KeyMessage(message))
            }
            Step::Server(_) | Step::Over => return,
        };
        if self.sent == tries {
            (self.step, self.deadline) = (Step::Over, None);
            out.push(AuthenticatorAction::Fail);
        } else {
            self.sent += 1;
            self.deadline = Some(now + wait);
            out.push(action);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AuthenticatorAction as Does;
    use AuthenticatorEvent as Hears;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Inputs at times, in ms, and what is done at each.
    fn does(rounds: u32, inputs: &[(u64, Hears)]) -> Vec<Vec<Does>> {
        let mut out = Vec::new();
        let mut authenticator = Authenticator::begin(rounds, at(0), &mut out);
        let mut all = vec![std::mem::take(&mut out)];
        for (millis, input) in inputs {
            authenticator.on(*input, at(*millis), &mut out);
            all.push(std::mem::take(&mut out));
        }
        all
    }

    #[test]
    fn with_a_key_that_both_know_the_four_way_handshake_is_all() {
        let done = does(0, &[(1, Hears::KeyMessage(2)), (2, Hears::KeyMessage(4))]);
        assert_eq!(done, [[Does::KeyMessage(1)], [Does::KeyMessage(3)], [Does::Authorise]]);
    }

    #[test]
    fn each_round_of_eap_goes_to_the_server_and_copies_change_nothing() {
        let inputs = [
            (1, Hears::EapResponse(1)),
            (1, Hears::EapResponse(1)),
            (2, Hears::ServerAnswer(1)),
            (2, Hears::ServerAnswer(1)),
            (3, Hears::EapResponse(1)),
            (4, Hears::EapResponse(2)),
            (5, Hears::ServerAnswer(2)),
        ];
        let expected = [
            vec![Does::EapRequest(1)],
            vec![Does::AskServer(1)],
            vec![],
            vec![Does::EapRequest(2)],
            vec![],
            vec![],
            vec![Does::AskServer(2)],
            vec![Does::KeyMessage(1)],
        ];
        assert_eq!(does(2, &inputs), expected);
    }

    #[test]
    fn a_key_message_is_sent_four_times_and_then_the_station_is_given_up() {
        let deadlines = [100, 1_100, 2_100, 3_100, 4_100].map(|millis| (millis, Hears::Deadline));
        let done = does(0, &deadlines);
        assert_eq!(done[1..4], [[Does::KeyMessage(1)], [Does::KeyMessage(1)], [Does::KeyMessage(1)]]);
        assert_eq!(done[4..], [vec![Does::Fail], vec![]]);
    }

    #[test]
    fn a_lost_third_message_is_repeated_after_a_tenth_of_a_second() {
        let done = does(0, &[(5, Hears::KeyMessage(2)), (104, Hears::Deadline), (105, Hears::Deadline)]);
        assert_eq!(done[1..], [vec![Does::KeyMessage(3)], vec![], vec![Does::KeyMessage(3)]]);
    }
}
