//! BCMP on the tree and the mesh of its paper: what each handover loses, by hand.

use crate::lab::record::{MS, Record};

const TREE: [&str; 2] = [
    include_str!("../../../../python/roamlab/papers/bcmp/tree-planned.toml"),
    include_str!("../../../../python/roamlab/papers/bcmp/tree-unplanned.toml"),
];
const MESH: [&str; 2] = [
    include_str!("../../../../python/roamlab/papers/bcmp/mesh-planned.toml"),
    include_str!("../../../../python/roamlab/papers/bcmp/mesh-unplanned.toml"),
];

/// The wired links of the access networks, without those between routers 13 to 18 and access routers 19 to 30.
const TREE_LINKS: &[(usize, usize)] =
    &[(7, 8), (7, 9), (8, 10), (8, 11), (9, 12), (10, 13), (10, 14), (11, 15), (11, 16), (12, 17), (12, 18)];
const MESH_ONLY: &[(usize, usize)] = &[
    (8, 9),
    (7, 10),
    (7, 11),
    (8, 12),
    (9, 11),
    (10, 11),
    (11, 12),
    (13, 14),
    (14, 15),
    (15, 16),
    (16, 17),
    (17, 18),
    (10, 15),
    (11, 14),
    (11, 17),
    (12, 16),
];

/// Hops between two nodes of the tree or the mesh, each of 1 ms.
fn hops(mesh: bool, from: usize, to: usize) -> u64 {
    let mut links = TREE_LINKS.to_vec();
    if mesh {
        links.retain(|link| *link != (7, 9));
        links.extend(MESH_ONLY);
    }
    links.extend((19..31).map(|router| (13 + (router - 19) / 2, router)));
    let mut far = [u64::MAX; 31];
    far[from] = 0;
    for _ in 0..31 {
        for &(one, other) in &links {
            far[other] = far[other].min(far[one].saturating_add(1));
            far[one] = far[one].min(far[other].saturating_add(1));
        }
    }
    far[to]
}

/// The paper's file for half a minute with a handover a second of each host, and with other lines in place of some.
fn run(text: &str, edits: &[(&str, &str)], seed: u64) -> Record {
    let half_a_minute = [
        ("duration = \"105 s\"", "duration = \"27 s\""),
        ("103 s", "26 s"),
        ("dwell = \"2006 ms\", moves = 50", "dwell = \"1 s\", moves = 100"),
    ];
    let edits = half_a_minute.iter().chain(edits);
    let text = edits.fold(text.to_owned(), |text, (find, replace)| {
        assert!(text.contains(find), "{find}");
        text.replace(find, replace)
    });
    Record::of(&text, seed, 27_000)
}

#[test]
fn planned_handovers_lose_nothing_on_either_network() {
    for text in [TREE[0], MESH[0]] {
        for seed in 1..=5 {
            // Other ways, other phases of the handovers, and in half of the runs a download on each.
            let plan = "kind = \"random-neighbour\", neighbours = \"list\"";
            let stagger = format!("stagger = \"{} us\"", 70_037 * seed);
            let mut edits = vec![
                ("kind = \"ping-pong\"", if seed % 3 == 0 { "kind = \"ping-pong\"" } else { plan }),
                ("stagger = \"500 ms\"", stagger.as_str()),
            ];
            let calls = "app = { kind = \"cbr\", start = \"1 s\", stop = \"26 s\", rate = \"64 kbit/s\", packet = \"200 B\" }";
            let busy = calls.replace("64 kbit/s", "300 kbit/s");
            if seed % 2 == 0 {
                edits.push((calls, &busy));
            }
            let record = run(text, &edits, seed);
            let paths = record.phases.iter().filter(|noted| &*noted.phase == "anchor-path-switched").count();
            assert!(paths > 40, "{paths} handovers");
            for flow in ["stream-0", "stream-1"] {
                let (sent, delivered) =
                    (record.total(flow, "sent_pkts"), record.total(flow, "delivered_pkts"));
                assert_eq!(
                    (delivered, record.total(flow, "duplicate_pkts")),
                    (sent, 0),
                    "{flow} of seed {seed}"
                );
            }
            assert!(record.losses.is_empty(), "{:?}", record.losses.first());
        }
    }
}

/// 2,500 datagrams a second to one walker.
const FAST: &[(&str, &str)] =
    &[("rate = \"1 Mbit/s\", packet = \"500 B\"", "rate = \"2 Mbit/s\", packet = \"100 B\"")];

/// The losses of the first walker at each of its handovers, with old and new access router, along 19 to 30 and back.
fn losses(record: &Record) -> Vec<(usize, usize, u64)> {
    let place = |second: usize| if second <= 11 { 19 + second } else { 30 - (second - 11) };
    let lost = |second: usize| {
        let about = second as u64 * 1_000 * MS;
        let near = record.lost("stream-0").filter(|loss| (about..about + 500 * MS).contains(&loss.time));
        near.count() as u64
    };
    (2..=22).map(|second| (place(second - 1), place(second), lost(second))).collect()
}

/// A handover's losses lie between what comes in this number of ms, at 2.5 a millisecond, with the
/// serialisation of messages and data.
fn fits(lost: u64, ms: u64) -> bool {
    (ms * 5 / 2..=ms * 5 / 2 + ms / 2 + 5).contains(&lost)
}

#[test]
fn without_forwarding_is_lost_what_left_the_anchor_for_the_old_access_router() {
    for (mesh, text, anchor) in [(false, TREE[1], 10), (true, MESH[1], 14)] {
        for (old, new, lost) in losses(&run(text, FAST, 1)) {
            // The attach takes 0.5 ms, the path update a millisecond a hop; what is then on its way to the old access router
            // is lost too.
            let ms = hops(mesh, new, anchor) + hops(mesh, anchor, old);
            assert!(fits(lost, ms), "{old} to {new}: {lost} in {ms} ms, mesh {mesh}");
        }
    }
}

#[test]
fn with_forwarding_is_lost_what_comes_before_the_notify() {
    for (mesh, text) in [(false, TREE[1]), (true, MESH[1])] {
        let edits = [FAST, &[("forward_after_notify = false\n", "")]].concat();
        for (old, new, lost) in losses(&run(text, &edits, 1)) {
            let ms = hops(mesh, new, old);
            assert!(fits(lost, ms), "{old} to {new}: {lost} in {ms} ms, mesh {mesh}");
        }
    }
}

/// In the tree the messages from 26 to 27 go through the gateway; the mesh has no such pair.
#[test]
fn the_longest_way_of_the_tree_leads_through_its_gateway() {
    let (through, around) = (hops(false, 26, 7) + hops(false, 7, 27), hops(false, 26, 27));
    assert_eq!((through, around, hops(true, 26, 27)), (8, 8, 3));
}

/// Both gateways of the mesh take packets from the home agent: the anchors 14 and 18 are nearest to 7 and to 9.
#[test]
fn the_mesh_uses_both_gateways() {
    let text = MESH[1];
    let record = run(text, &[], 1);
    let anchors: std::collections::BTreeSet<String> = record
        .phases
        .iter()
        .filter(|noted| &*noted.phase == "logged-in")
        .map(|noted| noted.node.to_string())
        .collect();
    assert_eq!(anchors.into_iter().collect::<Vec<_>>(), ["14", "16", "18"]);
    // With one gateway the residents on the far side have a longer way.
    let delays = |text: &str| {
        let record = run(text, &[], 1);
        let at = |flow: &str| {
            let delivery = record.delivered(flow).last().expect("one");
            (delivery.time - delivery.sent) / 100_000
        };
        // resident-0 is at 21, resident-8 at 29.
        (at("call-0"), at("call-8"))
    };
    let one =
        text.replace("[[links]]\nbetween = [\"6\", \"9\"]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n", "");
    assert_ne!(one, text);
    let ((near, far), (near_with_one, far_with_one)) = (delays(text), delays(&one));
    assert_eq!(near, near_with_one);
    // From 6 to 9, 12, 18 and 29, or to 7, 8, 12, 18 and 29.
    assert!((far + 10..=far + 13).contains(&far_with_one), "a hop more: {far}, {far_with_one}");
}
