//! A medium that both directions of all links of a cell share, through whole runs.

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};

/// Two hosts in a cell of 2 Mbit/s, and the given flows.
fn run(medium: &str, flows: &[(&str, &str, &str, &str)]) -> Vec<Table> {
    let mut text = format!(
        "run = {{ duration = \"4 s\" }}\n\
         links = [{{ between = [\"ch\", \"r\"], rate = \"100 Mbit/s\", delay = \"1 ms\" }}]\n\
         mobility = {{ kind = \"mobile-ip\", local_handoff = false, advertisement_interval = \"500 ms\" }}\n\
         [cells.bs]\nrouter = \"r\"\nrate = \"2 Mbit/s\"\ndelay = \"1 ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"20 pkt\" }}\n\
         backhaul = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n{medium}\n"
    );
    for host in ["a", "b"] {
        text += &format!(
            "[[hosts]]\nname = \"{host}\"\nhome = \"r\"\nvisits = [{{ cell = \"bs\", at = \"0 s\" }}]\n"
        );
    }
    for (name, source, destination, rate) in flows {
        text += &format!(
            "[[flows]]\nname = \"{name}\"\npath = [\"{source}\", \"{destination}\"]\n\
             app = {{ kind = \"cbr\", start = \"1 s\", stop = \"3 s\", rate = \"{rate}\", packet = \"500 B\" }}\n"
        );
    }
    results(&text, Replication { seed: 1, run: 0, trace: None })
}

fn delivered(tables: &[Table], flow: &str) -> u64 {
    let rows = rows(tables, "flows", ["flow", "delivered_pkts"]);
    rows.into_iter().find(|[name, _]| name == flow).unwrap()[1].parse().unwrap()
}

fn lost(tables: &[Table], reason: &str) -> u64 {
    let rows = rows(tables, "census", ["name", "value"]);
    rows.into_iter().find(|[name, _]| name == reason).unwrap()[1].parse().unwrap()
}

const SHARED: &str = "medium = { kind = \"shared\" }";

#[test]
fn one_direction_alone_is_what_it_is_on_a_link_of_its_own() {
    let flows = [("down", "ch", "a", "1.5 Mbit/s")];
    let times = |tables: &[Table]| rows(tables, "deliveries", ["seq", "sent_ns", "time_ns"]);
    let (dedicated, shared) = (run("medium = { kind = \"dedicated\" }", &flows), run(SHARED, &flows));
    assert_eq!(times(&run("", &flows)), times(&dedicated), "the default");
    let late: Vec<_> =
        times(&dedicated).into_iter().zip(times(&shared)).filter(|(one, other)| one != other).collect();
    // The air is taken now and then by an advertisement, which on a link of its own would have overtaken as well.
    assert!(late.len() <= 2, "{late:?}");
    assert_eq!(times(&dedicated).len(), times(&shared).len());
}

#[test]
fn both_directions_and_all_hosts_share_the_rate() {
    // 500 frames of 2 ms a second.
    let flows = [("down", "ch", "a", "2 Mbit/s"), ("up", "b", "ch", "2 Mbit/s")];
    let dedicated = run("", &flows);
    assert_eq!(["down", "up"].map(|flow| delivered(&dedicated, flow)), [1000, 1000]);
    let shared = run(SHARED, &flows);
    let [down, up] = ["down", "up"].map(|flow| delivered(&shared, flow));
    // They take turns. Of the uplink's datagrams, which wait at the host, the rest comes when the downlink is done.
    assert!(down.abs_diff(510) <= 10, "{down}: half of two seconds, and a queue of 20");
    assert!(up >= 970, "{up}");
    assert_eq!(lost(&shared, "queue-overflow"), 1000 - down);
    let three = run(SHARED, &[flows[0], flows[1], ("up2", "a", "ch", "2 Mbit/s")]);
    let third = delivered(&three, "down");
    assert!(third.abs_diff(1000 / 3 + 20) <= 10, "a third for each of three stations: {third}");
}

#[test]
fn frames_cost_what_they_cost_and_are_lost_as_often_as_asked() {
    let flows = [("down", "ch", "a", "2 Mbit/s")];
    // 2 ms of bytes, and as long again: half of the frames get through.
    let slow = run("medium = { kind = \"shared\", per_frame = \"2 ms\" }", &flows);
    assert!(delivered(&slow, "down").abs_diff(520) <= 6, "{}", delivered(&slow, "down"));
    let lossy = run("medium = { kind = \"shared\", frame_loss = 0.2 }", &flows);
    let (got, frames) = (delivered(&lossy, "down"), lost(&lossy, "frame-loss"));
    // 200 and four standard deviations; advertisements and registrations may be lost, too.
    assert!((145..=260).contains(&frames), "{frames}");
    assert!(1000 - got <= frames, "{got} {frames}");
}
