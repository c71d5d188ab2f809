//! A run: the flows over the kernel, between its hosts and the simulation.

use crate::error::Error;
use crate::uml::agent::{Answer, Command, Said, UNLIMITED, command, datagram, ipv4, mac};
use crate::uml::child::{Kernel, Load};
use crate::uml::machine::{Frames, LONGEST_START, Machine, Outside};
use crate::uml::sender::Sender;
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::wire::{self, Segment};
use roamlab_packet::{FlowId, TcpFlags, Tos};
use roamlab_scenario::Scenario;
use roamlab_transport::LinuxSpec;
use roamlab_world::NodeId;
use roamlab_world::{Datagram, Offer, Payload, Progress, Replication, RunOptions, Simulation, Table};
use std::collections::BTreeMap;

/// Most hosts of one kernel: User Mode Linux has 53 interrupts for cards (`NR_IRQS`, `UM_FIRST_DYN_IRQ`).
pub const MOST_HOSTS: usize = 53;
/// Most flows of one kernel: as many were run, over two hosts and over 50.
pub const MOST_FLOWS: usize = 2000;

/// The ports of the first connection of the first flow.
const PORTS: [u16; 2] = [40_000, 10_000];
/// The ports from which the kernel selects those of later connections, between the two.
const LATER: [u16; 2] = [20_000, 39_999];

/// How long after each multiple of `sample` a flow is read: between two ticks of the kernel, whose `HZ` is 1000 at most.
const OFF_TICK: Duration = Duration::from_micros(500);

/// Counters of the kernel that are read at the end of a run.
const COUNTED: [&str; 13] = [
    "TCPTimeouts",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPLossProbes",
    "TCPLossProbeRecovery",
    "TCPSackRecovery",
    "TCPSpuriousRTOs",
    "TCPLostRetransmit",
    "TCPDSACKRecv",
    "TCPLossUndo",
    "TCPFullUndo",
    "RetransSegs",
    "TCPMemoryPressures",
];

/// Counters of a host: its name, and names with values.
pub type Counters = Vec<(String, Vec<(String, i64)>)>;

/// A flow over the kernel.
struct Flow<'a> {
    id: FlowId,
    spec: &'a LinuxSpec,
    /// The hosts of its ends.
    ends: [usize; 2],
    sender: Sender,
    is_open: bool,
    next_sample: Option<Time>,
    /// The flow with the requests of this one or with the answers to it: the counters of both are reported.
    partner: Option<usize>,
    /// The sender's port, and the number behind the last byte sent, to see what is sent again.
    port: u16,
    sent: Option<u32>,
}

/// Programs and cards outside of the kernel.
struct Ends<'a> {
    simulation: Simulation,
    options: &'a RunOptions<'a>,
    hosts: Vec<NodeId>,
    flows: Vec<Flow<'a>>,
    end: Time,
    /// The kernel's time at the simulation's time 0; none while the simulation is stopped.
    zero: Option<u64>,
    /// Answers that are waited for, while the simulation is stopped.
    awaited: usize,
    /// By when they have come, in the kernel's time.
    answers_by: u64,
    counted: Vec<(String, i64)>,
}

/// Bytes of the settings that flows make at one host: they go into one frame, with 160 B of our own fields.
const MOST_SETTINGS: usize = 1300;

/// The settings of flows at a host, each once. A checked scenario has one value of each.
fn settings<'a>(specs: &[&'a LinuxSpec]) -> BTreeMap<&'a str, &'a str> {
    let all = specs.iter().flat_map(|spec| &spec.sysctls);
    all.map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

/// Limits of a kernel in a scenario's hosts: the place of a flow, the fault, and the text to write.
///
/// # Errors
/// Two flows want different values at one host, or all of them more than a frame takes.
pub fn check_settings(scenario: &Scenario) -> Result<(), (usize, String, String)> {
    let mut of_hosts: BTreeMap<&str, Vec<(usize, &LinuxSpec)>> = BTreeMap::new();
    for (place, flow) in scenario.flows.iter().enumerate() {
        let Some(spec) = flow.transport.linux() else { continue };
        for host in &flow.path {
            let here = of_hosts.entry(host.as_str()).or_default();
            let specs: Vec<&LinuxSpec> = here.iter().map(|(_, spec)| *spec).collect();
            let known = settings(&specs);
            for (key, value) in &spec.sysctls {
                if let Some(other) = known.get(key.as_str()).filter(|other| *other != value) {
                    let problem =
                        format!("\"{key}\" is \"{value}\" here, and \"{other}\" for another flow of {host}");
                    return Err((place, problem, "write one value in all flows of a host".into()));
                }
            }
            if here.iter().all(|(_, other)| other.sysctls != spec.sysctls) {
                here.push((place, spec));
            }
            let specs: Vec<&LinuxSpec> = here.iter().map(|(_, spec)| *spec).collect();
            let size: usize = settings(&specs).iter().map(|(key, value)| key.len() + value.len() + 2).sum();
            if size > MOST_SETTINGS {
                let problem =
                    format!("the flows of {host} have settings of {size} B, more than {MOST_SETTINGS} B");
                return Err((
                    place,
                    problem,
                    "write fewer settings, or some of them in flows of other hosts".into(),
                ));
            }
        }
    }
    Ok(())
}

/// Runs a checked scenario whose flows over `linux` have their ends in this kernel. Tables as of
/// [`roamlab_world::run`], and the counters of each sending host.
///
/// # Errors
/// Those of a run; or what the kernel lacks.
pub fn run(
    kernel: &Kernel,
    scenario: &Scenario,
    draw: Replication,
    options: &RunOptions<'_>,
) -> Result<(Vec<Table>, Counters), Error> {
    let simulation = Simulation::new(scenario, draw, options);
    let (names, flows) = ends_of(scenario, &simulation);
    let hosts: Option<Vec<NodeId>> = names.iter().map(|name| simulation.node(name)).collect();
    let hosts = hosts.ok_or(Error::Stopped)?;
    let end = Time::ZERO + scenario.run.duration;
    let mut ends = Ends {
        simulation,
        options,
        hosts,
        flows,
        end,
        zero: None,
        awaited: 1,
        answers_by: LONGEST_START,
        counted: Vec::new(),
    };
    let seed = draw.seed.wrapping_mul(1 << 20).wrapping_add(draw.run);
    let load = Load { hosts: names.len(), flows: ends.flows.len() };
    let mut machine = Machine::boot(kernel, load, seed, mac, &|| ends.is_wanted())?;
    machine.run(&mut ends, &mut Frames::new())?; // until the process is there
    let mut frames = ends.set_up();
    ends.awaited = frames.len();
    ends.answers_by = machine.now() + LONGEST_START;
    machine.run(&mut ends, &mut frames)?;
    // The run begins at a whole second of the kernel, so that nothing of its start is in its times.
    ends.zero = Some((machine.now() / SECOND + 1) * SECOND);
    machine.run(&mut ends, &mut Frames::new())?;
    ends.zero = None;
    let mut counters = Counters::new();
    let mut senders: Vec<usize> = ends.flows.iter().map(|flow| flow.ends[0]).collect();
    senders.sort_unstable();
    senders.dedup();
    for host in senders {
        ends.awaited = 1;
        ends.answers_by = machine.now() + LONGEST_START;
        let asked = command(host, 0, &Command::Count(&COUNTED));
        machine.run(&mut ends, &mut Frames::from([(host, asked)]))?;
        counters.push((names[host].to_owned(), std::mem::take(&mut ends.counted)));
    }
    drop(machine);
    Ok((ends.simulation.finish(options)?, counters))
}

const SECOND: u64 = 1_000_000_000;

/// The hosts of a scenario's flows over the kernel, and the flows.
fn ends_of<'a>(scenario: &'a Scenario, simulation: &Simulation) -> (Vec<&'a str>, Vec<Flow<'a>>) {
    let mut names: Vec<&str> = Vec::new();
    let mut flows = Vec::new();
    for flow in &scenario.flows {
        let Some(spec) = flow.transport.linux() else { continue };
        let Some(id) = simulation.flow(&flow.name) else { continue };
        let ends = flow.path.each_ref().map(|end| {
            names.iter().position(|name| name == end).unwrap_or_else(|| {
                names.push(end);
                names.len() - 1
            })
        });
        let sender = Sender::new(spec.ecn);
        flows.push(Flow {
            id,
            spec,
            ends,
            sender,
            is_open: false,
            next_sample: None,
            partner: None,
            port: 0,
            sent: None,
        });
    }
    for place in 0..flows.len() {
        let partner = simulation.partner(flows[place].id);
        flows[place].partner = flows.iter().position(|one| Some(one.id) == partner);
    }
    (names, flows)
}

impl Ends<'_> {
    /// The commands before the run.
    fn set_up(&self) -> Frames {
        let mut frames = Frames::new();
        for (host, node) in self.hosts.iter().enumerate() {
            let address = self.simulation.address(*node).octets();
            // As on a machine with 4 GiB or more: Linux makes them smaller where memory is.
            let [first, last] = LATER;
            let later = format!("{first} {last}");
            let mut sysctls = vec![
                ("ipv4.tcp_rmem", "4096 131072 6291456"),
                ("ipv4.tcp_wmem", "4096 16384 4194304"),
                ("ipv4.ip_local_port_range", later.as_str()),
            ];
            // One limit for all hosts, which the first namespace sets.
            sysctls.extend((host == 0).then_some(("ipv4.tcp_mem", "49152 65536 98304")));
            let flows = self.flows.iter().filter(|flow| flow.ends.contains(&host)).map(|flow| flow.spec);
            let specs: Vec<&LinuxSpec> = flows.collect();
            sysctls.extend(specs.iter().any(|spec| spec.ecn).then_some(("ipv4.tcp_ecn", "1")));
            sysctls.extend(settings(&specs));
            frames.push_back((host, command(host, 0, &Command::SetUp { address, sysctls })));
        }
        for (number, flow) in (0..).zip(&self.flows) {
            let [local, remote] = ports(number);
            let host = flow.ends[1];
            let listen = Command::Listen(flow.spec, [remote, local], flow.partner.is_some());
            frames.push_back((host, command(host, number, &listen)));
        }
        frames
    }

    /// Input of the simulation for the kernel now.
    fn drain(&mut self, now: Time, frames: &mut Frames) {
        while let Some(egress) = self.simulation.poll_egress() {
            // Packets of programs do not occur: no scenario has flows of kernels and of programs.
            let Payload::Written(mut headers) = egress.datagram.payload else { continue };
            let Some(host) = self.hosts.iter().position(|node| *node == egress.node) else { continue };
            // The octet is the one that the network gave it.
            wire::remark(&mut headers, egress.datagram.tos);
            let zeros = (egress.datagram.size.0 as usize).saturating_sub(headers.len());
            frames.push_back((host, datagram(host, &headers, zeros)));
        }
        for number in 0..self.flows.len() {
            while let Some(offer) = self.simulation.poll_offer(self.flows[number].id) {
                self.take_offer(number, offer, now, frames);
            }
            let flow = &mut self.flows[number];
            if flow.next_sample.is_some_and(|next| next <= now) {
                flow.next_sample = Some(sample_after(flow.spec.sample, now));
                self.sample(number, frames);
            }
        }
    }

    fn take_offer(&mut self, number: usize, offer: Offer, now: Time, frames: &mut Frames) {
        let order = match offer {
            Offer::Unlimited => Command::Write(UNLIMITED),
            Offer::Bytes(bytes) => Command::Write(bytes),
            Offer::Stop => Command::Stop,
            Offer::Anew if !self.flows[number].is_open => return,
            Offer::Anew => return self.connect(number, 0, now, frames),
        };
        // The client opens both connections of a session, before its first request.
        for one in [Some(number), self.flows[number].partner].into_iter().flatten() {
            if !self.flows[one].is_open {
                self.connect(one, ports(one as u32)[0], now, frames);
            }
        }
        let host = self.flows[number].ends[0];
        frames.push_back((host, command(host, number as u32, &order)));
    }

    fn connect(&mut self, number: usize, port: u16, now: Time, frames: &mut Frames) {
        let flow = &mut self.flows[number];
        let [host, other] = flow.ends;
        let to = self.simulation.address(self.hosts[other]).octets();
        if !std::mem::replace(&mut flow.is_open, true) {
            flow.next_sample = Some(sample_after(flow.spec.sample, now));
        }
        flow.sender.connect_anew();
        let connect = Command::Connect(flow.spec, [port, ports(number as u32)[1]], to);
        frames.push_back((host, command(host, number as u32, &connect)));
    }

    fn sample(&self, number: usize, frames: &mut Frames) {
        let host = self.flows[number].ends[0];
        frames.push_back((host, command(host, number as u32, &Command::Sample)));
    }

    /// Lets happen in the simulation what is due until now; whether the run is still wanted.
    fn advance(&mut self, time: u64) -> Result<(Time, bool), Error> {
        let now = Time::from_nanos(time - self.zero.unwrap_or(time));
        Ok((now, self.simulation.advance_to(now, self.options)?))
    }
}

impl Outside for Ends<'_> {
    fn is_wanted(&self) -> bool {
        (self.options.keep_going)(Progress { now: self.simulation.now(), events: self.simulation.events() })
    }

    fn next(&mut self) -> u64 {
        let Some(zero) = self.zero else { return if self.awaited == 0 { 0 } else { self.answers_by } };
        let samples = self.flows.iter().filter_map(|flow| flow.next_sample).min();
        let next = [self.simulation.next_event(), samples].into_iter().flatten().min();
        zero + next.unwrap_or(self.end).min(self.end).as_nanos()
    }

    fn happen(&mut self, time: u64, frames: &mut Frames) -> Result<bool, Error> {
        if self.zero.is_none() {
            return if self.awaited == 0 { Ok(false) } else { Err(Error::Stopped) };
        }
        let (now, is_wanted) = self.advance(time)?;
        if now < self.end {
            self.drain(now, frames);
        }
        Ok(is_wanted && now < self.end)
    }

    fn send(&mut self, host: usize, frame: &[u8], time: u64, frames: &mut Frames) -> Result<(), Error> {
        let Some(zero) = self.zero.filter(|zero| time >= *zero) else { return Ok(()) };
        let written = ipv4(frame).and_then(|bytes| Some((bytes, wire::read(bytes)?)));
        let Some((bytes, (segment, length))) = written else { return Ok(()) };
        let (now, _) = self.advance(time)?;
        debug_assert_eq!(now.as_nanos(), time - zero);
        let Some((number, is_sender)) = self.flow_of(host, segment.ports) else { return Ok(()) };
        let flow = &mut self.flows[number];
        let other = self.hosts[flow.ends[usize::from(is_sender)]];
        let here = self.hosts[host];
        let (source, destination) = (self.simulation.address(here), self.simulation.address(other));
        let size = Bytes((length + segment.payload) as u64);
        let payload = Payload::Written(bytes[..length].into());
        let datagram = Datagram { flow: flow.id, source, destination, tos: Tos(bytes[1]), size, payload };
        let again = is_sender && flow.sends_again(&segment);
        self.simulation.inject(here, &datagram);
        if again && !frames.iter().any(|(_, frame)| is_sample(frame, number)) {
            self.sample(number, frames);
        }
        self.drain(now, frames);
        Ok(())
    }

    fn answered(&mut self, answer: Answer, time: u64) -> Result<(), Error> {
        match answer {
            Answer::Failed(text) => return Err(Error::Refused(text)),
            Answer::Of(number, said) => return self.told(number as usize, said, time),
            Answer::Counted(counted) => self.counted = counted,
            Answer::Ready | Answer::Done => {}
        }
        self.awaited = self.awaited.saturating_sub(1);
        Ok(())
    }
}

impl Ends<'_> {
    /// Takes a report of the process on a flow.
    fn told(&mut self, number: usize, said: Said, time: u64) -> Result<(), Error> {
        let Some(flow) = self.flows.get_mut(number).filter(|_| self.zero.is_some()) else { return Ok(()) };
        let id = flow.id;
        match said {
            Said::Wrote(bytes) => self.simulation.wrote(id, bytes),
            Said::Read(bytes) => {
                self.advance(time)?;
                self.simulation.read(id, bytes);
            }
            Said::Variables(info) => {
                if let Some(report) = flow.sender.sampled(&info) {
                    self.advance(time)?;
                    self.simulation.report(id, &report);
                }
            }
        }
        Ok(())
    }

    /// The flow of a segment that a host sends, and whether it is from its sender.
    fn flow_of(&self, host: usize, [source, destination]: [u16; 2]) -> Option<(usize, bool)> {
        let is_sender = source >= LATER[0];
        let number = usize::from(if is_sender { destination } else { source }.checked_sub(PORTS[1])?);
        let flow = self.flows.get(number)?;
        (flow.ends[usize::from(!is_sender)] == host).then_some((number, is_sender))
    }
}

impl Flow<'_> {
    /// Notes what the sender sends; whether it has sent that data before, in its present connection.
    fn sends_again(&mut self, segment: &Segment<'_>) -> bool {
        if segment.flags.has(TcpFlags::SYN) {
            (self.port, self.sent) = (segment.ports[0], None);
        }
        if segment.payload == 0 || segment.ports[0] != self.port {
            return false;
        }
        let (seq, end) = (segment.seq, segment.seq.wrapping_add(segment.payload as u32));
        let again = self.sent.is_some_and(|sent| (seq.wrapping_sub(sent) as i32) < 0);
        if !again {
            self.sent = Some(end);
        }
        again
    }
}

/// When a flow is read next. A timer of the kernel that expires while a report is processed is late by a
/// tick.
fn sample_after(sample: Duration, now: Time) -> Time {
    let sample = sample.as_nanos();
    Time::from_nanos((now.as_nanos() / sample + 1).saturating_mul(sample)) + OFF_TICK
}

fn ports(number: u32) -> [u16; 2] {
    PORTS.map(|first| first + number as u16)
}

/// True if a frame asks for a sample of this flow.
fn is_sample(frame: &[u8], number: usize) -> bool {
    let asked = command(0, number as u32, &Command::Sample);
    frame.get(6..) == asked.get(6..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(flows: &[String]) -> Scenario {
        let link = "[run]\nduration = \"1 s\"\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
        let flow = |(number, sysctls): (usize, &String)| {
            format!(
                "[[flows]]\nname = \"f{number}\"\npath = [\"a\", \"b\"]\napp = {{ kind = \"ftp\" }}\ntransport = {{ kind = \"linux\", sysctls = {{ {sysctls} }} }}\n"
            )
        };
        let flows: String = flows.iter().enumerate().map(flow).collect();
        Scenario::parse(&format!("{link}{flows}"), "lab.toml").unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_settings_of_a_host_s_flows_fit_into_a_frame_or_are_refused() {
        let same = vec!["\"ipv4.tcp_sack\" = \"0\"".to_owned(); 95];
        let all = scenario(&same);
        assert_eq!(check_settings(&all), Ok(()));
        let specs: Vec<&LinuxSpec> = all.flows.iter().filter_map(|flow| flow.transport.linux()).collect();
        assert_eq!(settings(&specs), BTreeMap::from([("ipv4.tcp_sack", "0")]));
        let long = |number: u32| format!("\"ipv4.tcp_a{number}\" = \"{}\"", "1".repeat(600));
        let (place, problem, _) = check_settings(&scenario(&[long(1), long(2), long(3)])).unwrap_err();
        assert_eq!((place, problem.starts_with("the flows of a have settings of ")), (2, true));
        let text = "1".repeat(MOST_SETTINGS + 160 - 3);
        let most = Command::SetUp { address: [0; 4], sysctls: vec![("a", &*text)] };
        assert!(command(0, 0, &most).len() <= 1514, "of a card");
        let other = ["\"ipv4.tcp_sack\" = \"0\"".to_owned(), "\"ipv4.tcp_sack\" = \"1\"".to_owned()];
        let (place, problem, _) = check_settings(&scenario(&other)).unwrap_err();
        assert_eq!(
            (place, &*problem),
            (1, "\"ipv4.tcp_sack\" is \"1\" here, and \"0\" for another flow of a")
        );
    }

    #[test]
    fn samples_of_whole_milliseconds_fall_between_ticks() {
        let micros = |time: Time| time.as_nanos() / 1000;
        for sample in [1, 7, 10, 100] {
            let mut last = Time::ZERO;
            for number in 1..50 {
                last = sample_after(Duration::from_millis(sample), last);
                assert_eq!(micros(last), number * sample * 1000 + 500);
            }
        }
        // One that begins in between, at a tick or not, is read after the next multiple.
        for start in [10_000, 10_499, 10_500, 19_999] {
            let first = sample_after(Duration::from_millis(10), Time::from_nanos(start * 1000));
            assert_eq!(micros(first), 20_500);
        }
    }
}
