//! The hosts associated with an 802.11 base station, the signs of their presence, and their keys. It sends no frames for
//! others.

use super::power_save::PowerSave;
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use roamlab_radio::{Authenticator, Wifi};
use roamlab_record::cause::CauseId;
use std::collections::{BTreeMap, BTreeSet};

/// The hosts of a base station.
#[derive(Clone, Debug)]
pub struct Associations {
    failed_frames: u32,
    inactivity: Duration,
    hosts: BTreeMap<Addr, Association>,
    /// Rows that give the reason why hosts are associated no more.
    dismissed: BTreeMap<Addr, CauseId>,
    /// When the pending look for silent hosts is due.
    armed: Option<Time>,
    /// Hosts whose key of fast transition the base station has.
    keys: BTreeSet<Addr>,
    /// Hosts that are away, and the frames for them.
    pub power_save: PowerSave,
}

#[derive(Clone, Debug)]
struct Association {
    /// Frames for the host that were given up since its last sign of life.
    failed: u32,
    /// When that was.
    seen: Time,
    /// The authenticator that asks for its keys, and the row of the last request; `None`: without keys.
    authenticator: Option<(Authenticator, CauseId)>,
    /// Its data pass.
    authorised: bool,
}

impl Associations {
    /// None yet.
    pub fn new(wifi: &Wifi) -> Associations {
        Associations {
            failed_frames: wifi.ap_failed_frames,
            inactivity: wifi.ap_inactivity,
            hosts: BTreeMap::new(),
            dismissed: BTreeMap::new(),
            armed: None,
            keys: BTreeSet::new(),
            power_save: PowerSave::new(wifi.ap_held_frames),
        }
    }

    /// The base station has associated a host, whose data pass.
    pub fn add(&mut self, host: Addr, now: Time) {
        let known = self.hosts.remove(&host);
        let authenticator = known.and_then(|known| known.authenticator);
        self.hosts.insert(host, Association { failed: 0, seen: now, authenticator, authorised: true });
    }

    /// The base station has associated a host, which an authenticator asks for its keys.
    pub fn add_unauthorised(&mut self, host: Addr, authenticator: Authenticator, now: Time) {
        let authenticator = Some((authenticator, CauseId::START));
        self.hosts.insert(host, Association { failed: 0, seen: now, authenticator, authorised: false });
    }

    /// The hosts whose data pass.
    pub fn authorised(&self) -> Vec<Addr> {
        let authorised = self.hosts.iter().filter(|(_, association)| association.authorised);
        authorised.map(|(host, _)| *host).collect()
    }

    /// True if a host's data pass.
    pub fn is_authorised(&self, host: Addr) -> bool {
        self.hosts.get(&host).is_some_and(|association| association.authorised)
    }

    /// The authenticator that asks a host for its keys, and the row of the last request.
    pub fn authenticator(&mut self, host: Addr) -> Option<&mut (Authenticator, CauseId)> {
        self.hosts.get_mut(&host)?.authenticator.as_mut()
    }

    /// Hosts whose authenticators have waited long enough.
    pub fn unanswered(&self, now: Time) -> Vec<Addr> {
        let is_due = |association: &Association| {
            let deadline = association.authenticator.as_ref().and_then(|(each, _)| each.next_deadline());
            deadline.is_some_and(|deadline| deadline <= now)
        };
        self.hosts.iter().filter(|(_, association)| is_due(association)).map(|(host, _)| *host).collect()
    }

    /// The base station has a host's key of fast transition from now on.
    pub fn give_key(&mut self, host: Addr) {
        self.keys.insert(host);
    }

    /// True if the base station has a host's key of fast transition.
    pub fn has_key(&self, host: Addr) -> bool {
        self.keys.contains(&host)
    }

    /// The base station takes a host as gone, for the reason in `cause`.
    pub fn remove(&mut self, host: Addr, cause: CauseId) {
        self.hosts.remove(&host);
        self.dismissed.insert(host, cause);
    }

    /// Reason why the base station has not associated a host; `None`: it has.
    pub fn why_absent(&self, host: Addr) -> Option<CauseId> {
        let why = || self.dismissed.get(&host).copied().unwrap_or(CauseId::START);
        (!self.hosts.contains_key(&host)).then(why)
    }

    /// A host has given a sign of life.
    pub fn seen(&mut self, host: Addr, now: Time) {
        if let Some(association) = self.hosts.get_mut(&host) {
            (association.failed, association.seen) = (0, now);
        }
    }

    /// A frame for a host was given up; whether the base station takes it as gone by that.
    pub fn failed(&mut self, host: Addr) -> bool {
        let Some(association) = self.hosts.get_mut(&host) else { return false };
        association.failed += 1;
        association.failed == self.failed_frames
    }

    /// Hosts that have been silent for too long, and the time of the next look for such, if it is not set yet.
    pub fn silent(&mut self, now: Time) -> (Vec<Addr>, Option<Time>) {
        let until = |association: &Association| association.seen + self.inactivity;
        let silent = self.hosts.iter().filter(|(_, host)| until(host) <= now).map(|(host, _)| *host);
        let silent: Vec<Addr> = silent.collect();
        let next = self.hosts.values().map(until).filter(|until| *until > now).min();
        self.armed = self.armed.filter(|armed| *armed > now);
        let next = next.filter(|next| self.armed.is_none_or(|armed| *next < armed));
        self.armed = next.or(self.armed);
        (silent, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Addr = Addr::new(1, 1);

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// A base station with one host since the start of the run.
    fn with_one(failed_frames: u32) -> Associations {
        let ap_inactivity = Duration::from_millis(100);
        let wifi = Wifi { ap_failed_frames: failed_frames, ap_inactivity, ..Wifi::default() };
        let mut hosts = Associations::new(&wifi);
        hosts.add(HOST, ms(0));
        hosts
    }

    #[test]
    fn a_host_is_given_up_with_the_frame_that_fills_the_row_and_once() {
        let mut hosts = with_one(3);
        assert_eq!([(); 2].map(|()| hosts.failed(HOST)), [false, false]);
        hosts.seen(HOST, ms(1));
        let row = [(); 4].map(|()| hosts.failed(HOST));
        assert_eq!(row, [false, false, true, false], "a sign of it begins the row again");
    }

    #[test]
    fn a_host_is_silent_since_the_last_sign_of_it() {
        let mut hosts = with_one(0);
        assert_eq!(hosts.silent(ms(0)), (vec![], Some(ms(100))));
        hosts.seen(HOST, ms(60));
        assert_eq!(hosts.silent(ms(100)), (vec![], Some(ms(160))));
        assert_eq!(hosts.silent(ms(159)), (vec![], None), "a check at 160 ms is already scheduled");
        assert_eq!(hosts.silent(ms(160)), (vec![HOST], None));
    }
}
