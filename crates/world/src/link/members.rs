//! Who a base station of 802.11 has associated, and which signs of life it has had. Frames for others it does not send.

use super::Links;
use crate::cause::CauseId;
use crate::ids::LinkId;
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use roamlab_radio::Wifi;
use std::collections::BTreeMap;

/// The hosts of a base station.
#[derive(Clone, Debug)]
pub struct Members {
    failed_frames: u32,
    inactivity: Duration,
    hosts: BTreeMap<Addr, Member>,
    /// The rows that say why hosts are members no more.
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

    /// A base station takes a host as gone, which `cause` says.
    pub fn dismiss(&mut self, air: LinkId, host: Addr, cause: CauseId) {
        if let Some(members) = &mut self[air].members {
            members.hosts.remove(&host);
            members.dismissed.insert(host, cause);
        }
    }

    /// What led to a host being none that this base station has associated; `None`: it is one.
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
