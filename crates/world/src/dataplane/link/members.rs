//! The hosts associated with an 802.11 base station, and the signs of their presence. It sends no frames for others.

use super::Links;
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use roamlab_radio::Wifi;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::LinkId;
use std::collections::BTreeMap;

/// The hosts of a base station.
#[derive(Clone, Debug)]
pub struct Members {
    failed_frames: u32,
    inactivity: Duration,
    hosts: BTreeMap<Addr, Member>,
    /// Rows that give the reason why hosts are members no more.
    dismissed: BTreeMap<Addr, CauseId>,
    /// When the pending look for silent hosts is due.
    armed: Option<Time>,
}

#[derive(Clone, Debug)]
struct Member {
    /// Frames for it that were given up since its last sign of life.
    failed: u32,
    /// When that was.
    seen: Time,
}

impl Members {
    fn new(wifi: &Wifi) -> Members {
        Members {
            failed_frames: wifi.ap_failed_frames,
            inactivity: wifi.ap_inactivity,
            hosts: BTreeMap::new(),
            dismissed: BTreeMap::new(),
            armed: None,
        }
    }
}

impl Links {
    /// A downlink of a base station that sends to hosts only which it has associated.
    pub fn keep_members(&mut self, air: LinkId, wifi: &Wifi) {
        self[air].members = Some(Box::new(Members::new(wifi)));
    }

    /// A base station has associated a host.
    pub fn admit(&mut self, air: LinkId, host: Addr, now: Time) {
        if let Some(members) = &mut self[air].members {
            members.hosts.insert(host, Member { failed: 0, seen: now });
        }
    }

    /// A base station takes a host as gone, for the reason in `cause`.
    pub fn dismiss(&mut self, air: LinkId, host: Addr, cause: CauseId) {
        if let Some(members) = &mut self[air].members {
            members.hosts.remove(&host);
            members.dismissed.insert(host, cause);
        }
    }

    /// Reason why this base station has not associated a host; `None`: it has.
    pub fn stranger(&self, air: LinkId, host: Addr) -> Option<CauseId> {
        let members = self[air].members.as_ref()?;
        let why = || members.dismissed.get(&host).copied().unwrap_or(CauseId::START);
        (!members.hosts.contains_key(&host)).then(why)
    }

    /// A host has given a sign of life.
    pub fn see(&mut self, air: LinkId, host: Addr, now: Time) {
        let members = self[air].members.as_mut();
        if let Some(member) = members.and_then(|members| members.hosts.get_mut(&host)) {
            *member = Member { failed: 0, seen: now };
        }
    }

    /// A frame for a host was given up; whether its base station takes it as gone by that.
    pub fn fail(&mut self, air: LinkId, host: Addr) -> bool {
        let Some(members) = self[air].members.as_mut() else { return false };
        let limit = members.failed_frames;
        let Some(member) = members.hosts.get_mut(&host) else { return false };
        member.failed += 1;
        member.failed == limit
    }

    /// Hosts that have been silent for too long, and the time of the next look for such, if it is not set yet.
    pub fn silent(&mut self, air: LinkId, now: Time) -> (Vec<Addr>, Option<Time>) {
        let Some(members) = self[air].members.as_mut() else { return (Vec::new(), None) };
        let inactivity = members.inactivity;
        let is_silent = |member: &Member| member.seen + inactivity <= now;
        let silent = members.hosts.iter().filter(|(_, member)| is_silent(member)).map(|(host, _)| *host);
        let silent: Vec<Addr> = silent.collect();
        let heard = members.hosts.values().filter(|member| !is_silent(member));
        let next = heard.map(|member| member.seen + inactivity).min();
        members.armed = members.armed.filter(|armed| *armed > now);
        let next = next.filter(|next| members.armed.is_none_or(|armed| *next < armed));
        members.armed = next.or(members.armed);
        (silent, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataplane::link::End;
    use crate::dataplane::tx_queue::TxQueue;
    use crate::ids::CellId;
    use roamlab_engine::Rate;
    use roamlab_record::ids::NodeId;

    const HOST: Addr = Addr::new(1, 1);

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// The air of a cell with one host since the start of the run.
    fn air(failed_frames: u32) -> (Links, LinkId) {
        let mut links = Links::new(false);
        let way = (NodeId(0), End::Cell(CellId(0)));
        let air = links.add(
            "air".into(),
            way,
            (Rate::from_bps(1_000_000), Duration::ZERO),
            TxQueue::droptail(10, false),
        );
        let ap_inactivity = Duration::from_millis(100);
        links.keep_members(air, &Wifi { ap_failed_frames: failed_frames, ap_inactivity, ..Wifi::default() });
        links.admit(air, HOST, ms(0));
        (links, air)
    }

    #[test]
    fn a_host_is_given_up_with_the_frame_that_fills_the_row_and_once() {
        let (mut links, air) = air(3);
        let row =
            |links: &mut Links, count: u32| (0..count).map(|_| links.fail(air, HOST)).collect::<Vec<_>>();
        assert_eq!(row(&mut links, 2), [false, false]);
        links.see(air, HOST, ms(1));
        assert_eq!(row(&mut links, 4), [false, false, true, false], "a sign of it begins the row again");
    }

    #[test]
    fn a_host_is_silent_since_the_last_sign_of_it() {
        let (mut links, air) = air(0);
        assert_eq!(links.silent(air, ms(0)), (vec![], Some(ms(100))));
        links.see(air, HOST, ms(60));
        assert_eq!(links.silent(air, ms(100)), (vec![], Some(ms(160))));
        assert_eq!(links.silent(air, ms(159)), (vec![], None), "a check at 160 ms is already scheduled");
        assert_eq!(links.silent(air, ms(160)), (vec![HOST], None));
    }
}
