//! Whole runs with a kernel. Without a built kernel they are skipped, and report it.
#![cfg(target_os = "linux")]

use roamlab_engine::Time;
use roamlab_outside::{Counters, Kernel, Live, run, send_with_files};
use roamlab_packet::FlowId;
use roamlab_scenario::Scenario;
use roamlab_world::{Column, Offer, Replication, RunOptions, Simulation, Table};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::{Mutex, PoisonError};

/// A link of 10 Mbit/s and 20 ms each way, with a gap of 200 ms in which everything is lost.
const LINK: &str = r#"
[run]
duration = "8 s"
[record]
tcp = true
variables = true
[[links]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "50 pkt" }
reverse_queue = { kind = "droptail", limit = "50 pkt" }
changes = [{ at = "4 s", up = false }, { at = "4.2 s", up = true }]
[[flows]]
name = "f"
path = ["a", "b"]
transport = { kind = "linux", congestion_control = "cubic" }
app = { kind = "ftp", start = "0.1 s" }
"#;

/// A host that changes cells at 4 s, with a download over the kernel, one over simulated TCP, and one of the kernel's
/// between fixed nodes.
const MOVE: &str = r#"
[run]
duration = "8 s"
[record]
tcp = true
variables = true
deliveries = true
[mobility]
kind = "mobile-ip"
[[links]]
between = ["ch", "r"]
rate = "6 Mbit/s"
delay = "7 ms"
queue = { kind = "red", limit = "60 pkt", min_threshold = "5 pkt", max_threshold = "30 pkt", mark_ecn = true }
[[links]]
between = ["r", "ha"]
rate = "10 Mbit/s"
delay = "3 ms"
[cells.bs1]
router = "r"
rate = "2 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail", limit = "20 pkt" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[cells.bs2]
router = "r"
rate = "2 Mbit/s"
delay = "2 ms"
queue = { kind = "droptail", limit = "20 pkt" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[[hosts]]
name = "mh"
home = "ha"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "4 s" }]
[[flows]]
name = "kernel"
path = ["ch", "mh"]
transport = { kind = "linux", congestion_control = "reno" }
app = { kind = "ftp", start = "1 s" }
[[flows]]
name = "simulated"
path = ["ch", "mh"]
transport = { kind = "tcp", variant = "sack", window = "40 pkt", segment = "1000 B" }
app = { kind = "ftp", start = "1.3 s" }
[[flows]]
name = "marked"
path = ["ch", "ha"]
transport = { kind = "linux", congestion_control = "cubic", ecn = true, segment = "1000 B" }
app = { kind = "ftp", start = "0.5 s", size = "500 kB" }
"#;

fn kernel() -> Option<Kernel> {
    let found = Kernel::find("6.12");
    if found.is_none() {
        println!("skipped: no kernel; `roamlab kernel build` builds one");
    }
    found
}

/// One run at a time, so that what it leaves behind is seen.
static ONE: Mutex<()> = Mutex::new(());

fn made(kernel: &Kernel, text: &str, seed: u64) -> (Vec<Table>, Counters) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let scenario = Scenario::parse(text, "kernel.toml").unwrap_or_else(|error| panic!("{error}"));
    let draw = Replication { seed, run: 0, trace: None };
    let made = run(kernel, &scenario, draw, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(left_over(), 0, "a kernel still runs");
    made
}

fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Column {
    let found = tables.iter().find(|one| one.name == table).unwrap();
    &found.columns.iter().find(|(name, _)| *name == column).unwrap().1
}

fn totals<'a>(tables: &'a [Table], name: &str) -> &'a [u64] {
    let Column::U64(values) = column(tables, "flows", name) else { panic!("{name}") };
    values
}

fn total(tables: &[Table], name: &str) -> u64 {
    totals(tables, name)[0]
}

#[test]
fn a_kernel_s_flow_is_recorded_as_its_own_counters_say() {
    let Some(kernel) = kernel() else { return };
    let (tables, counters) = made(&kernel, LINK, 1);
    let counter = |name: &str| counters[0].1.iter().find(|(one, _)| one == name).unwrap().1 as u64;
    println!("{counters:?}");
    for name in [
        "sent_pkts",
        "retransmitted_pkts",
        "delivered_pkts",
        "delivered_bytes",
        "dropped_pkts",
        "timeouts",
        "fast_retransmits",
    ] {
        println!("{name} {}", total(&tables, name));
    }
    assert_eq!(total(&tables, "retransmitted_pkts"), counter("RetransSegs"));
    assert_eq!(total(&tables, "timeouts"), counter("TCPTimeouts"));
    assert_eq!(total(&tables, "fast_retransmits"), counter("TCPSackRecovery"));
    assert!(total(&tables, "delivered_bytes") > 8_000_000);
}

#[test]
fn a_run_repeats_to_the_digit() {
    let Some(kernel) = kernel() else { return };
    let (first, again) = (made(&kernel, LINK, 1), made(&kernel, LINK, 1));
    assert!(first == again, "two runs of one seed differ");
}

#[test]
fn flows_of_the_kernel_and_simulated_ones_share_a_run_and_a_host_keeps_its_connection_when_it_moves() {
    let Some(kernel) = kernel() else { return };
    let (tables, counters) = made(&kernel, MOVE, 3);
    println!("{counters:?}");
    let delivered = totals(&tables, "delivered_bytes");
    println!("{delivered:?} {:?}", totals(&tables, "timeouts"));
    assert_eq!(delivered[2], 500_000, "a file arrives whole");
    assert!(delivered[0] > 500_000 && delivered[1] > 200_000);
    let Column::I64(completed) = column(&tables, "flows", "completed_ns") else { panic!("times") };
    assert!(completed[2] > 500_000_000 && completed[0] == -1);
    // Data arrives in the second cell: the connection is the same, as a new one would begin at byte 0.
    let (Column::I64(last), true) = (column(&tables, "flows", "finish_ns"), delivered.len() == 3) else {
        panic!("times")
    };
    assert!(last[0] > 7_900_000_000, "{last:?}");
    assert!(made(&kernel, MOVE, 3).0 == tables, "two runs of one seed differ");
}

/// The link without its gap, and this application.
fn application(app: &str) -> String {
    let link = LINK.replace("changes = [{ at = \"4 s\", up = false }, { at = \"4.2 s\", up = true }]\n", "");
    link.replace("{ kind = \"ftp\", start = \"0.1 s\" }", app)
}

/// How long each object or segment took in ms, of those that came.
fn waits(tables: &[Table]) -> Vec<f64> {
    let Column::U64(begun) = column(tables, "units", "time_ns") else { panic!("times") };
    let Column::I64(ended) = column(tables, "units", "completed_ns") else { panic!("times") };
    let both = begun.iter().zip(ended).filter(|(_, ended)| **ended >= 0);
    both.map(|(begun, ended)| (*ended as f64 - *begun as f64) / 1e6).collect()
}

/// Small objects: a request takes 20 ms and some 1.2 ms for its segment, the answer as much; a handshake takes 40 ms.
#[test]
fn objects_come_when_their_last_byte_is_read_over_one_connection_and_over_one_for_each() {
    let Some(kernel) = kernel() else { return };
    let web = |connections: &str| {
        application(&format!(
            "{{ kind = \"web\", objects = 4, think = \"200 ms\", object = \"1 kB\", largest = \"1 kB\", connections = \"{connections}\" }}"
        ))
    };
    for (connections, least) in [("persistent", 42.0), ("per-object", 82.0)] {
        let (tables, _) = made(&kernel, &web(connections), 1);
        let found = waits(&tables);
        println!("{connections}: {} objects, {:?}", found.len(), &found[..8]);
        assert!(found[0] > 82.0 && found[0] < 85.0, "the first one has a handshake: {}", found[0]);
        assert!(found[1..].iter().all(|wait| *wait > least && *wait < least + 3.0), "{found:?}");
        assert!(found.len() > 50);
        let sent = totals(&tables, "delivered_bytes");
        assert!(sent.iter().all(|bytes| *bytes >= 1448 * found.len() as u64), "{sent:?}");
        assert!(made(&kernel, &web(connections), 1).0 == tables, "two runs of one seed differ");
    }
}

#[test]
fn a_film_a_call_and_datagrams_of_one_size_go_over_the_kernel() {
    let Some(kernel) = kernel() else { return };
    let (tables, _) = made(&kernel, &application("{ kind = \"dash\", segment = \"1 s\" }"), 1);
    let found = waits(&tables);
    assert!(found.len() > 8 && found.iter().all(|wait| *wait > 60.0 && *wait < 1000.0), "{found:?}");
    let (tables, _) = made(&kernel, &application("{ kind = \"voip\", stop = \"7 s\" }"), 1);
    assert_eq!((total(&tables, "delivered_pkts"), total(&tables, "delivered_bytes")), (350, 350 * 1448));
    let cbr = "{ kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"1000 B\", packets = \"500 pkt\" }";
    let (tables, _) = made(&kernel, &application(cbr), 1);
    assert_eq!(total(&tables, "delivered_bytes"), 500 * 1448);
}

/// Bytes in the socket at the stop still arrive; then it is complete.
#[test]
fn a_file_that_stops_is_complete_with_what_was_in_the_socket_s_buffer() {
    let Some(kernel) = kernel() else { return };
    let (tables, _) = made(&kernel, &application("{ kind = \"ftp\", stop = \"3 s\" }"), 1);
    let Column::I64(completed) = column(&tables, "flows", "completed_ns") else { panic!("times") };
    assert!(completed[0] > 3_000_000_000 && completed[0] < 7_000_000_000, "{completed:?}");
    assert!(total(&tables, "delivered_bytes") > 3_000_000);
}

/// The simulation's side of a session over a stack: what is read of the request lets the server answer, and what is read of
/// the answer completes the object.
#[test]
fn without_a_kernel_what_is_read_leads_a_session_on() {
    let text = application(
        "{ kind = \"web\", object = \"5 kB\", largest = \"5 kB\", connections = \"per-object\" }",
    );
    let scenario = Scenario::parse(&text, "web.toml").unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions::default();
    let mut simulation = Simulation::new(&scenario, Replication { seed: 1, run: 0, trace: None }, &options);
    let [answers, requests] = ["f", "f-requests"].map(|name| simulation.flow(name).unwrap());
    let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
    let mut step = |millis: u64, read: Option<(FlowId, u64)>| {
        simulation.advance_to(at(millis), &options).unwrap();
        read.into_iter().for_each(|(flow, bytes)| simulation.read(flow, bytes));
        simulation.advance_to(at(millis), &options).unwrap();
        [answers, requests].map(|flow| std::iter::from_fn(|| simulation.poll_offer(flow)).collect::<Vec<_>>())
    };
    assert_eq!(step(0, None), [vec![Offer::Anew], vec![Offer::Anew, Offer::Bytes(1448)]]);
    assert_eq!(step(30, Some((requests, 1447))), [vec![], vec![]], "a byte of the request is missing");
    let [answer, none] = step(31, Some((requests, 1)));
    assert!(none.is_empty());
    let &[Offer::Bytes(bytes)] = &answer[..] else { panic!("{answer:?}") };
    assert!(bytes % 1448 == 0 && bytes <= 4 * 1448);
    step(60, Some((answers, bytes - 1)));
    step(70, Some((answers, 1)));
    let tables = simulation.finish(&options).unwrap();
    let Column::I64(ended) = column(&tables, "units", "completed_ns") else { panic!("times") };
    assert_eq!(ended[..], [70_000_000]);
}

/// Kernels of this process that still run.
#[expect(clippy::disallowed_methods, reason = "the system lists processes in files")]
fn left_over() -> usize {
    let ours = format!("PPid:\t{}\n", std::process::id());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let is_ours = |path: std::path::PathBuf| {
        let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
        read("cmdline").contains("time-travel=ext:clock") && read("status").contains(&ours)
    };
    processes.filter(|process| is_ours(process.path())).count()
}

/// A kernel with too little memory ends itself, and one with the limits of a small machine narrows the windows.
#[test]
fn a_thousand_flows_have_memory_and_their_tcp_is_under_no_pressure() {
    let Some(kernel) = kernel() else { return };
    let (link, _) = LINK.split_once("changes").unwrap();
    let link = link.replace("8 s", "1 s").replace("10 Mbit/s", "100 Mbit/s").replace("50 pkt", "500 pkt");
    let flow = |number: u32| {
        format!(
            "[[flows]]\nname = \"f{number}\"\npath = [\"a\", \"b\"]\ntransport = {{ kind = \"linux\" }}\napp = {{ kind = \"ftp\" }}\n"
        )
    };
    let (tables, counters) = made(&kernel, &(link + &(0..1000).map(flow).collect::<String>()), 1);
    assert!(totals(&tables, "delivered_bytes").iter().sum::<u64>() > 8_000_000);
    assert_eq!(counters[0].1.last(), Some(&("TCPMemoryPressures".to_owned(), 0)));
}

/// Two things happen within one tick of the kernel's clock, while it takes no interrupts: it asks to be run
/// later, and would panic if it were run immediately.
#[test]
fn a_kernel_that_takes_no_interrupt_now_is_run_when_it_asks() {
    let Some(kernel) = kernel() else { return };
    let fast = LINK.replace("cubic", "bbr").replace("10 Mbit", "20 Mbit").replace("20 ms", "40 ms");
    let (tables, _) = made(&kernel, &fast.replace("50 pkt", "148 pkt"), 1);
    assert!(total(&tables, "delivered_bytes") > 10_000_000);
}

/// A run in real time with sockets in the place of cards: what is written into one comes out of the other, no
/// earlier than in the simulation. It ends with the program.
#[test]
fn in_real_time_a_packet_takes_as_long_as_in_the_simulation() {
    let scenario = format!(
        "{}{}",
        LINK.split("[[flows]]").next().unwrap_or_default(),
        r#"
[[flows]]
name = "up"
path = ["a", "b"]
app = { kind = "program" }
[[flows]]
name = "down"
path = ["b", "a"]
app = { kind = "program" }
"#
    );
    let scenario = Scenario::parse(&scenario, "live.toml").unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions::default();
    let draw = Replication { seed: 1, run: 0, trace: None };
    let (live, socket) = Live::new(&scenario, draw, &options).unwrap();
    let [a, b] = live.addresses();
    let octets =
        |address: &str| -> Vec<u8> { address.split('.').map(|part| part.parse().unwrap()).collect() };
    let packet = |from: &str, to: &str, number: u8| {
        let header = [0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0, 0];
        [&header[..], &octets(from), &octets(to), &[0; 8], &[number]].concat()
    };
    let cards = [(); 2].map(|()| UnixDatagram::pair().unwrap());
    let (program, ended) = UnixStream::pair().unwrap();
    cards.iter().for_each(|(card, _)| card.set_nonblocking(true).unwrap());
    let files = [cards[0].0.as_fd(), cards[1].0.as_fd(), ended.as_fd()];
    send_with_files(&socket, b".", &files).unwrap();
    let outside = [&cards[0].1, &cards[1].1].map(|end| end.try_clone().unwrap());
    let sent = [packet(&a, &b, 1), packet(&a, "10.9.9.9", 2), packet(&a, &b, 3)];
    let expected = [sent[0].clone(), sent[2].clone()];
    let user = std::thread::spawn(move || {
        let mut taken = Vec::new();
        sent.iter().for_each(|bytes| _ = outside[0].send(bytes).unwrap());
        for _ in 0..2 {
            let mut bytes = vec![0; 2000];
            let length = outside[1].recv(&mut bytes).unwrap();
            bytes.truncate(length);
            taken.push(bytes);
        }
        drop(program);
        taken
    });
    let (tables, timing) = live.run(&options).unwrap();
    assert_eq!(user.join().unwrap(), expected);
    assert_eq!((timing.late_ns.len(), timing.misaddressed, timing.refused), (2, 1, 0));
    assert_eq!(totals(&tables, "delivered_pkts"), [2, 0]);
    let Column::U64(times) = column(&tables, "deliveries", "time_ns") else { panic!("times") };
    let Column::U64(starts) = column(&tables, "deliveries", "sent_ns") else { panic!("times") };
    // 20 ms, and 23.2 µs for 29 B at 10 Mbit/s.
    assert_eq!(times[0] - starts[0], 20_023_200);
    let end = timing.end.as_nanos();
    assert!(end >= times[1] && end < 7_000_000_000, "it ends with the program: {end}");
}

/// A simulation that is slower than the clock ends with the program, and a second behind its duration at the
/// latest. It reports how many of its events were late.
#[test]
fn in_real_time_a_late_simulation_ends_with_its_program_or_its_duration() {
    let scenario = |duration: &str| {
        format!(
            r#"
[run]
duration = "{duration}"
[[links]]
between = ["a", "b"]
rate = "40 Gbit/s"
delay = "1 ms"
[[flows]]
name = "up"
path = ["a", "b"]
app = {{ kind = "program" }}
[[flows]]
name = "down"
path = ["b", "a"]
app = {{ kind = "program" }}
[[flows]]
name = "load"
path = ["a", "b"]
app = {{ kind = "cbr", rate = "30 Gbit/s", packet = "100 B" }}
"#
        )
    };
    for (duration, program_s) in [("60 s", 0.3), ("300 ms", 60.0)] {
        let scenario =
            Scenario::parse(&scenario(duration), "live.toml").unwrap_or_else(|error| panic!("{error}"));
        let options = RunOptions::default();
        let draw = Replication { seed: 1, run: 0, trace: None };
        let (live, socket) = Live::new(&scenario, draw, &options).unwrap();
        let cards = [(); 2].map(|()| UnixDatagram::pair().unwrap());
        let (program, ended) = UnixStream::pair().unwrap();
        cards.iter().for_each(|(card, _)| card.set_nonblocking(true).unwrap());
        let files = [cards[0].0.as_fd(), cards[1].0.as_fd(), ended.as_fd()];
        send_with_files(&socket, b".", &files).unwrap();
        let (over, is_over) = std::sync::mpsc::channel::<()>();
        let user = std::thread::spawn(move || {
            let by_itself = is_over.recv_timeout(std::time::Duration::from_secs_f64(program_s)).is_err();
            drop(program);
            by_itself
        });
        let (_, timing) = live.run(&options).unwrap();
        let _ = over.send(());
        assert_eq!(user.join().unwrap(), program_s < 1.0, "{duration}");
        assert!(timing.end.as_nanos() < 300_000_000, "{duration}: {:?}", timing.end);
        assert!(timing.late_events * 10 > timing.events, "{timing:?}");
    }
}
