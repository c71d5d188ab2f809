//! Random handovers: every packet is accounted for.

use super::*;

/// A handover as base stations do it, with these times in ms: until the host leaves, until it is in the new cell, and until
/// the new base station sends.
fn hand_over(lab: &mut Lab, [from, to]: [&str; 2], [leaves, there, sends]: [u64; 3], rlc: RlcMode) {
    let [source, target, mh] = [from, to, "mh"].map(|name| lab.node(name));
    let (host, [old, new]) = (lab.host(), [from, to].map(|name| lab.address(name)));
    lab.act(target, Action::StartBuffering { host });
    lab.route(target, Some(old), Via::Buffer);
    lab.route(target, None, Via::ReorderQueue);
    lab.act(source, Action::FreezeBearer { host });
    let counts = match rlc {
        RlcMode::Am => lab.state(from).unwrap().counts,
        RlcMode::Um => Counts::default(),
    };
    lab.act(source, Action::StartBuffering { host });
    lab.act(source, Action::Release { host, via: Via::Tunnel(new), mark: None });
    lab.traffic(leaves, from);
    lab.act(mh, Action::Reestablish { reset: false });
    lab.enter(to, there);
    lab.traffic(there + 1, from);
    if rlc == RlcMode::Am {
        let received = lab.report();
        lab.act(target, Action::SkipReceived { host, received });
    }
    lab.traffic(sends, from);
    lab.adopt(target, counts);
    lab.act(target, Action::Release { host, via: Via::Air, mark: None });
    lab.route(target, Some(old), Via::Air);
    lab.traffic(20, to);
    lab.run_to(lab.now() + ms(15));
    lab.act(target, Action::ReleaseReorderQueue { host, via: Via::Air });
    lab.act(target, Action::ClearRoute { host, from: Some(old) });
    lab.route(target, None, Via::Air);
    lab.act(source, Action::ClearRoute { host, from: None });
    lab.act(source, Action::EndBearer { host });
}

impl Lab {
    /// Fate of a packet and its copies.
    fn fate(&self, seq: u32) -> String {
        let rows = self.world.planes.cx.probes.drops.rows.iter().filter(|row| row.seq == seq);
        let each = rows.map(|row| format!("{} {:?} {:?}", row.time_ns, row.reason, row.place));
        format!("{seq}: {}", each.collect::<Vec<_>>().join("; "))
    }

    /// A packet each way every 3 ms, for so long: one to the host from a base station.
    fn traffic(&mut self, millis: u64, station: &str) {
        let end = self.now() + ms(millis);
        while self.now() < end {
            self.send(station, "mh", 1);
            self.send("mh", "ch", 1);
            self.run_to((self.now() + ms(3)).min(end));
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]

    /// Handovers to and fro with losses on the air, at any times. Every packet arrives once, in order, or ends with a named
    /// loss; in acknowledged mode without discardTimer all arrive.
    #[test]
    fn many_handovers_account_for_every_packet(
        times in proptest::collection::vec([0u64..12, 1u64..60, 0u64..30], 1..8),
        loss in proptest::sample::select(vec![None, Some(0.05), Some(0.3)]),
        rlc in proptest::sample::select(vec![RlcMode::Am, RlcMode::Um]),
        discard in proptest::sample::select(vec![None, Some(10u64), Some(50)]),
        carry_age in proptest::bool::ANY,
    ) {
        let line = loss.map_or(String::new(), |loss| format!("loss = {loss:?}\n"));
        let text = SCENARIO.replace("LOSS\n", &line).replacen("[radio]", &format!("{line}[radio]"), 1);
        let text = text.replacen(&format!("backhaul = {{ rate = \"1 Gbit/s\", delay = \"3 ms\" }}\n{line}[radio]"),
            &format!("{line}backhaul = {{ rate = \"1 Gbit/s\", delay = \"3 ms\" }}\n[radio]"), 1);
        let discard_timer = discard.map_or(BearerTimer::Infinity, |discard| BearerTimer::After(ms(discard)));
        let repairs_all = rlc == RlcMode::Am && discard.is_none();
        let t_reordering = if repairs_all { BearerTimer::Infinity } else { BearerTimer::After(ms(40)) };
        let params = BearerParams {
            rlc: Some(rlc),
            t_reordering: Some(t_reordering),
            discard_timer: Some(discard_timer),
            carry_age,
            ..params()
        };
        let mut lab = lab_of(&text, params.values());
        let mut cells = ["bs1", "bs2"];
        for each in times {
            lab.traffic(30, cells[0]);
            hand_over(&mut lab, cells, each, rlc);
            cells.reverse();
        }
        let end = lab.now() + ms(5_000);
        lab.run_to(end);
        let mut arrived: Vec<u32> = lab.arrived("mh");
        proptest::prop_assert!(arrived.is_sorted() && lab.arrived("ch").is_sorted(), "out of order");
        arrived.extend(lab.arrived("ch"));
        let once: BTreeSet<u32> = arrived.iter().copied().collect();
        proptest::prop_assert_eq!(once.len(), arrived.len(), "a copy has arrived");
        let rows = lab.world.planes.cx.probes.drops.rows.iter();
        let lost: BTreeSet<u32> = rows.filter(|row| row.reason.loses_data()).map(|row| row.seq).collect();
        let ended: BTreeSet<u32> = once.union(&lost).copied().collect();
        let missing: Vec<String> = (0..lab.sent).filter(|seq| !ended.contains(seq)).map(|seq| lab.fate(seq)).collect();
        proptest::prop_assert!(missing.is_empty(), "{missing:#?}");
        if repairs_all {
            proptest::prop_assert_eq!((lab.losses(), once.len()), (BTreeSet::new(), lab.sent as usize));
        }
    }
}
