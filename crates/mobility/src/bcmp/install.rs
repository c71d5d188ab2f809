//! The roles at the nodes, the requirements of the parameters, and the capabilities that the protocol requests.

use super::{
    AccessRouter, Anchor, AuthenticationServer, Bcmp, Global, Home, HomeAgent, Hours, Kind, MobileHost,
    Paging, Params, Phase,
};
use crate::blocks::{AccessTree, Trigger, TriggerBy, check_times, check_unused};
use crate::{Buffering, CellSite, Installation, Keeps, Placement, Protocol, Refusal, Topology, matches};
use roamlab_engine::{Duration, Rng};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Protocol for Params {
    crate::protocol!(Bcmp, "BCMP", "{ kind = \"bcmp\", trigger = { by = \"source\" } }");

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        if topology.gateway.is_some() {
            let refusal = Refusal::at("domain.gateway", "BCMP has anchors; gateways are plain routers to it");
            return Err(refusal.help("write `anchors = [\"...\"]`"));
        }
        self.detection.check()?;
        self.trigger.check(topology)?;
        let candidates = (&self.trigger.candidates, &Trigger::default().candidates);
        check_unused("trigger.candidates", candidates, "remove this: a trigger names one cell")?;
        if matches!(self.trigger.by, TriggerBy::Path | TriggerBy::NoPath) {
            let refusal = Refusal::at("trigger.by", "a handover is prepared at one access router");
            return Err(refusal.help("write \"source\", or \"none\" for unplanned handovers"));
        }
        if self.move_when_prepared && self.trigger.by == TriggerBy::None {
            let refusal = Refusal::at("move_when_prepared", "no handover is prepared without a trigger");
            return Err(refusal.help("write `trigger = { by = \"source\" }` too, or remove this"));
        }
        self.buffer.check()?;
        self.session.check("session")?;
        let times = [
            ("anchor_grace", self.anchor_grace),
            ("preparation_lifetime", self.preparation_lifetime),
            ("tunnel_lifetime", self.tunnel_lifetime),
            ("login_retransmit", self.login_retransmit),
            ("login_retransmit_limit", self.login_retransmit_limit),
        ];
        check_times("", times)?;
        self.global.as_ref().map_or(Ok(()), Global::check)?;
        self.authentication.as_ref().map_or(Ok(()), |server| server.check(topology))?;
        self.check_hours(topology)?;
        self.paging.as_ref().map_or(Ok(()), |paging| paging.check(topology))?;
        self.check_anchors(topology)
    }

    fn broadcast_interval(&self) -> Option<Duration> {
        self.detection.interval()
    }

    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<Bcmp> {
        let mut installed = Installation::empty();
        let names = self.anchor_names(topology);
        // Without an anchor there is no host: the check ensures this.
        let Some(first) = names.first() else { return installed };
        let (areas, params) = (Arc::new(self.areas(topology)), Arc::new(self.clone()));
        let mut together: BTreeMap<Addr, Vec<Addr>> = BTreeMap::new();
        for (&cell, area) in areas.iter() {
            let same = areas.iter().filter(|(_, other)| *other == area).map(|(&other, _)| other);
            together.insert(cell, same.collect());
        }
        let together = Arc::new(together);
        let limit = self.paging.as_ref().map(|paging| paging.limit);
        let buffering = limit.map(|limit| Buffering::plain(limit, Keeps::Nothing));
        let server = self.authentication.as_ref().map(|of| of.addresses(topology));
        for name in &names {
            let at = topology.address(name);
            let role = Anchor::new(at, &together, server.as_ref().map(|(at, _)| *at), &params);
            let buffering = buffering.clone();
            installed.place_with(at, role, buffering);
        }
        if let Some((at, refused)) = server {
            installed.place(at, AuthenticationServer::new(refused));
            installed.delivers_to_self = true;
        }
        // The check ensures that there are links to every cell.
        let trees: Vec<(&str, AccessTree)> =
            names.iter().filter_map(|&name| Some((name, AccessTree::new(topology, name).ok()?))).collect();
        for cell in &topology.cells {
            let at = topology.address(&cell.name);
            let phase = self.detection.phase(&cell.name, stream);
            // Of several that are as near the first.
            let nearest = trees.iter().min_by_key(|(_, tree)| tree.distance(&cell.name));
            let nearest = nearest.map_or(*first, |(name, _)| *name);
            installed.place_with(
                at,
                AccessRouter::new(at, topology.address(nearest), phase, &params),
                self.buffer.buffering(),
            );
        }
        let mut homes = BTreeSet::new();
        for host in &topology.hosts {
            let (at, home) = (topology.address(&host.name), topology.address(&host.home));
            // With a global protocol above it a host logs in at the anchor that is nearest to its access router.
            let anchor = self.global.is_none().then_some(home);
            let home_agent = self.global.as_ref().map(|_| home);
            if let Some(global) = self.global.as_ref().filter(|_| homes.insert(home)) {
                installed.place(home, HomeAgent::new(home, global));
            }
            let hours = self.hours.iter().find(|(pattern, _)| matches(pattern, &host.name));
            let hours = hours.map_or_else(Hours::default, |(_, hours)| hours.clone());
            let role = MobileHost::new(Home { host: at, anchor, home_agent }, &areas, &hours, &params).into();
            let watches_uplink = self.paging.is_some();
            installed.roles.push(Placement { at, role, buffering: None, watches_uplink });
        }
        installed.predictions = self.trigger.predictions(topology, stream);
        installed.discards_unknown = true;
        installed
    }
}

impl Params {
    /// The anchors in their order, each once.
    fn anchor_names<'a>(&'a self, topology: &'a Topology) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        let listed = self.anchors.iter().map(String::as_str);
        let homes = topology.hosts.iter().map(|host| host.home.as_str());
        for name in listed.chain(homes.filter(|_| self.anchors.is_empty())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn check_anchors(&self, topology: &Topology) -> Result<(), Refusal> {
        let routers = || topology.routers.iter().map(String::as_str);
        for (number, name) in self.anchors.iter().enumerate() {
            let field = format!("anchors[{number}]");
            if routers().all(|known| known != name) {
                return Err(Refusal::at(field, format!("there is no node \"{name}\"")).known(name, routers()));
            }
            if self.anchors[..number].contains(name) {
                return Err(Refusal::at(field, format!("\"{name}\" is there twice")).help("remove this"));
            }
        }
        if self.global.is_some() && self.anchors.is_empty() {
            let refusal =
                Refusal::at("anchors", "the homes of the hosts have home agents, so none is an anchor");
            return Err(refusal.help("write the anchors: `anchors = [\"...\"]`"));
        }
        if self.global.is_none() && self.anchor_change {
            let message = "a host with another anchor has another address, and no node outside knows it";
            return Err(Refusal::at("anchor_change", message).help("write `global = {}` too, or `false`"));
        }
        for host in topology.hosts.iter().filter(|_| !self.anchors.is_empty()) {
            let field = format!("hosts[{}].home", host.number);
            let is_anchor = self.anchors.contains(&host.home);
            if self.global.is_none() && !is_anchor {
                let message = "without a global protocol a host's address belongs to its anchor";
                let refusal = Refusal::elsewhere(field, message);
                let anchor = &self.anchors[0];
                return Err(refusal
                    .help(format!("write an anchor, as \"{anchor}\", or `global = {{}}` in its protocol")));
            }
            if self.global.is_some() && is_anchor {
                let message = format!("\"{}\" is an anchor and cannot be home agent too", host.home);
                return Err(
                    Refusal::elsewhere(field, message).help("write a node outside the access network")
                );
            }
        }
        for anchor in self.anchor_names(topology) {
            AccessTree::new(topology, anchor)?;
        }
        Ok(())
    }

    fn check_hours(&self, topology: &Topology) -> Result<(), Refusal> {
        let names = || topology.hosts.iter().map(|host| host.name.as_str());
        for (pattern, Hours { login, logout }) in &self.hours {
            if names().all(|name| !matches(pattern, name)) {
                let refusal =
                    Refusal::at(format!("hours.{pattern}"), format!("there is no host \"{pattern}\""));
                return Err(refusal.known(pattern, names()));
            }
            if let Some(logout) = logout.filter(|logout| logout <= login) {
                let refusal = Refusal::at(
                    format!("hours.{pattern}.logout"),
                    format!("expected a time after the login at {login}, got {logout}"),
                );
                return Err(refusal.help(format!("write more than \"{login}\"")));
            }
        }
        Ok(())
    }

    /// The number of the paging area of each cell.
    fn areas(&self, topology: &Topology) -> BTreeMap<Addr, usize> {
        let Some(paging) = &self.paging else { return BTreeMap::new() };
        let area = |(number, cell): (usize, &CellSite)| {
            let listed = paging.area(&cell.name).next();
            (topology.address(&cell.name), listed.unwrap_or(paging.areas.len() + number))
        };
        topology.cells.iter().enumerate().map(area).collect()
    }
}

impl Paging {
    /// The areas that a cell is listed in.
    fn area(&self, cell: &str) -> impl Iterator<Item = usize> {
        let lists =
            move |(_, area): &(usize, &Vec<String>)| area.iter().any(|pattern| matches(pattern, cell));
        self.areas.iter().enumerate().filter(lists).map(|(number, _)| number)
    }

    fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        check_times("paging", [("idle_after", self.idle_after)])?;
        let names = || topology.cells.iter().map(|cell| cell.name.as_str());
        for (number, area) in self.areas.iter().enumerate() {
            for (place, pattern) in area.iter().enumerate() {
                let field = format!("paging.areas[{number}][{place}]");
                if names().all(|name| !matches(pattern, name)) {
                    let refusal = Refusal::at(field, format!("there is no cell \"{pattern}\""));
                    return Err(refusal.known(pattern, names()));
                }
            }
        }
        match names().find(|name| self.area(name).nth(1).is_some()) {
            None => Ok(()),
            Some(cell) => {
                let refusal = Refusal::at("paging.areas", format!("cell \"{cell}\" is in two areas"));
                Err(refusal.help("write it in one of them"))
            }
        }
    }
}

impl Global {
    fn check(&self) -> Result<(), Refusal> {
        let times = [
            ("lifetime", self.lifetime),
            ("renewal_margin", self.renewal_margin),
            ("retransmit", self.retransmit),
            ("retransmit_limit", self.retransmit_limit),
        ];
        check_times("global", times)?;
        if self.lifetime <= self.renewal_margin {
            let refusal = Refusal::at("global.lifetime", "a registration would be renewed before it begins");
            return Err(refusal.help(format!("write more than \"{}\"", self.renewal_margin)));
        }
        Ok(())
    }
}
