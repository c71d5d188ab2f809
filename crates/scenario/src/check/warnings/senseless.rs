//! Warnings of values that are valid one by one, and that no run of this length, link or packet can use.

use crate::check::queues::queues;
use crate::problem::{Problem, quoted_key};
use crate::schema::{FlowSpec, HostSpec, LinkRate, NetworkSpec, Scenario};
use roamlab_engine::{Bytes, Duration, Rate};
use roamlab_qdisc::QueueSpec;
use roamlab_radio::MediumSpec;
use roamlab_traffic::AppSpec;
use roamlab_transport::LARGEST_PACKET;
use rustc_hash::FxHashMap;

/// All such warnings.
pub fn warnings(scenario: &Scenario) -> Vec<Problem> {
    let mut found = Vec::new();
    let fastest = fastest(scenario);
    let flows = scenario.flows.iter().enumerate();
    found.extend(flows.flat_map(|(index, flow)| of_flow(scenario, &fastest, index, flow)));
    found.extend(unused_rts(scenario));
    found.extend(overlapping_channels(scenario));
    found.extend(signless_levels(scenario));
    found.extend(small_limits(scenario));
    found.extend(unused_queues(scenario));
    found
}

/// Fields of a flow that its run cannot use.
fn of_flow(scenario: &Scenario, fastest: &Fastest<'_>, index: usize, flow: &FlowSpec) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let mut warn = |part: &str, message: String, help: &str| {
        let field = match part.strip_prefix("transport.") {
            Some(name) => crate::check::profiles::place(scenario, index, name),
            None => format!("flows[{index}].{part}"),
        };
        found.push(Problem::at(field, message).help(help));
    };
    if let Some(stop) = flow.app.stop().filter(|&stop| stop > end) {
        let message = format!("the flow would stop at {stop}: the run ends at {end}");
        warn("app.stop", message, "lengthen `run.duration`, write an earlier time, or leave it out");
    }
    for warning in flow.transport.warnings(scenario.profiles(), end) {
        warn(&format!("transport.{}", warning.field), warning.message, warning.help);
    }
    if let Some((part, size)) = datagram(&flow.app)
        && size > LARGEST_PACKET
    {
        let message = format!(
            "a datagram has {size} with its headers: Ethernet's packets have at most 1500 B, or {LARGEST_PACKET} in jumbo frames"
        );
        warn(part, message, "write a smaller size, for example \"1460 B\"");
    }
    of_call(flow, &mut warn);
    of_conference(flow, end, widest(fastest, flow), &mut warn);
    of_stream(flow, end, widest(fastest, flow), &mut warn);
    if let AppSpec::Dash(film) = &flow.app
        && let (Some(&lowest), Some(widest)) = (film.rates.first(), widest(fastest, flow))
        && lowest > widest
    {
        let message = format!(
            "the lowest quality needs {lowest}, and the network gives an end of this flow at most {widest}: the film stalls permanently"
        );
        warn("app.rates", message, "write a lower rate first");
    }
    found
}

/// Takes the part of a flow, the message and the help of a warning.
type Warn<'a> = dyn FnMut(&str, String, &str) + 'a;

fn of_call(flow: &FlowSpec, warn: &mut Warn<'_>) {
    let AppSpec::Voip(call) = &flow.app else { return };
    let (interval, size) = call.packet();
    if size > Bytes(1500) {
        let message =
            format!("a packet has {size} and {interval} of speech: Ethernet's packets have at most 1500 B");
        warn("app.frames", message, "write a smaller number, for example 2");
    }
    if let Some(each) = call.talkspurts.filter(|each| each.on < interval) {
        let message = format!(
            "a talkspurt lasts {} on average, and a packet has {interval} of speech: most talkspurts are one packet",
            each.on
        );
        warn("app.talkspurts.on", message, "write a longer time, for example \"1 s\"");
    }
}

/// `end` of the run, and the widest rate between the ends of the flow.
fn of_conference(flow: &FlowSpec, end: Duration, widest: Option<Rate>, warn: &mut Warn<'_>) {
    let AppSpec::Conference(call) = &flow.app else { return };
    if let Some(widest) = widest
        && call.rate > widest
    {
        let message = format!(
            "it sends {} or more, and the network gives an end of this flow at most {widest}: most frames are lost",
            call.rate
        );
        warn("app.rate", message, "write a lower rate");
    }
    if call.frame_rate > 0.0 {
        let frames = call.frame_rate;
        let until = flow.app.stop().unwrap_or(end).min(end);
        let lasts = until.saturating_sub(flow.app.start()).as_secs_f64();
        if lasts > 0.0 && lasts * frames <= 1.0 {
            let message = format!(
                "frames are {} s apart at this rate: it sends one alone, and ends at {until}",
                1.0 / frames
            );
            warn("app.frame_rate", message, "write a higher rate, for example 25.0");
        }
    }
}

/// The same of a stream of constant rate.
fn of_stream(flow: &FlowSpec, end: Duration, widest: Option<Rate>, warn: &mut Warn<'_>) {
    let AppSpec::Cbr(stream) = &flow.app else { return };
    let gap = stream.rate.transmission_time(stream.packet, &mut 0);
    let until = flow.app.stop().unwrap_or(end).min(end);
    if flow.app.start() < until
        && gap >= until - flow.app.start()
        && stream.packets.is_none_or(|most| most.0 > 1)
    {
        let message =
            format!("datagrams are {gap} apart at this rate: it sends one alone, and ends at {until}");
        warn("app.rate", message, "write a higher rate, or `packets = \"1 pkt\"`");
    }
    if let Some(widest) = widest
        && stream.rate.as_bps() / TOO_MUCH >= widest.as_bps()
    {
        let message = format!(
            "it sends {}, and the network gives an end of this flow at most {widest}: {TOO_MUCH} or more times as much is offered as passes",
            stream.rate
        );
        warn("app.rate", message, "write a lower rate");
    }
}
/// The field of the largest datagram of an application, and its size with headers.
fn datagram(app: &AppSpec) -> Option<(&'static str, Bytes)> {
    const HEADERS: u64 = 40; // RTP, UDP and IP
    let largest = |payload: Bytes| Some(("app.packets.payload", Bytes(payload.0 + HEADERS)));
    match app {
        AppSpec::Cbr(stream) => Some(("app.packet", stream.packet)),
        AppSpec::Video(film) => largest(film.packets.payload),
        AppSpec::Recorded(film) => largest(film.packets.payload),
        AppSpec::Conference(call) => largest(call.packets.payload),
        _ => None,
    }
}

/// A load of more than this many times the rate of its path is taken for a mistake.
pub const TOO_MUCH: u64 = 20;

pub fn steady(rate: &LinkRate) -> Option<Rate> {
    match rate {
        LinkRate::Constant(rate) => Some(*rate),
        LinkRate::Recorded(_) | LinkRate::Table(_) | LinkRate::Channel(_) => None,
    }
}

/// The rate of the fastest link of each node and host; `None`: one of its links is recorded.
type Fastest<'a> = FxHashMap<&'a str, Option<Rate>>;

fn fastest(scenario: &Scenario) -> Fastest<'_> {
    let mut found = Fastest::default();
    let mut add = |name, rate: Option<Rate>| {
        let known = found.entry(name).or_insert(rate);
        *known = known.zip(rate).map(|(known, rate)| known.max(rate));
    };
    for link in &scenario.links {
        let changed = link.changes.iter().flat_map(|change| [change.rate, change.reverse_rate]);
        let most = changed.flatten().chain(link.reverse_rate).max();
        let rate = steady(&link.rate).map(|rate| most.map_or(rate, |most| most.max(rate)));
        for end in &link.between {
            add(end.as_str(), rate);
        }
    }
    for host in &scenario.hosts {
        for cell in scenario.cells_of(host).into_iter().filter_map(|name| scenario.cells.get(name)) {
            add(host.name.as_str(), steady(&cell.rate));
        }
    }
    found
}

/// The rate of the fastest link at the end of a flow that has the slower ones; none if one is recorded.
fn widest(fastest: &Fastest<'_>, flow: &FlowSpec) -> Option<Rate> {
    let [from, to] = flow.path.each_ref().map(|end| fastest.get(end.as_str()).copied().flatten());
    from.zip(to).map(|(from, to)| from.min(to))
}

/// The largest packet of a flow, in bytes.
pub fn packet(scenario: &Scenario, flow: &FlowSpec) -> u64 {
    match &flow.app {
        AppSpec::Cbr(params) => params.packet.0,
        AppSpec::Voip(params) => params.packet().1.0,
        _ => flow.transport.largest_packet(scenario.profiles()).0,
    }
}

/// The smallest of the flows' largest packets: what a link or a queue cannot carry, it carries for no flow.
pub fn smallest_packet(scenario: &Scenario) -> Option<u64> {
    scenario.flows.iter().map(|flow| packet(scenario, flow)).min()
}

/// The time that a packet of this size, in bytes, takes on the link of a queue, if its rate is constant.
pub fn packet_time(scenario: &Scenario, queue: &str, size: u64) -> Option<Duration> {
    let number = |path: &str| path.strip_prefix("links[")?.split_once(']')?.0.parse::<usize>().ok();
    let cell = || {
        let path = queue.strip_prefix("cells.").filter(|path| !path.contains(".backhaul."))?;
        let of = |name: &&String| path.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'));
        scenario.cells.get(scenario.cells.keys().find(of)?)
    };
    let behind = |path: &'static str| {
        let of = |name: &&String| queue == format!("cells.{}.backhaul.{path}", quoted_key(name));
        scenario.cells.keys().find(of).map(|name| scenario.cells[name].backhaul.rate)
    };
    let rate = match number(queue) {
        Some(index) => {
            let link = scenario.links.get(index)?;
            let back = if queue.ends_with("reverse_queue") { link.reverse_rate } else { None };
            back.or(steady(&link.rate))
        }
        None => behind("queue").or_else(|| behind("reverse_queue")).or_else(|| steady(&cell()?.rate)),
    };
    Some(rate?.transmission_time(Bytes(size), &mut 0))
}

/// Limits in bytes that no packet with data fits.
fn small_limits(scenario: &Scenario) -> Vec<Problem> {
    let Some(size) = smallest_packet(scenario) else { return Vec::new() };
    let warn = |(path, queue): (String, Option<&QueueSpec>)| {
        let fields = serde_json::to_value(queue?).ok()?;
        let limit: Bytes = fields.get("limit_bytes")?.as_str()?.parse().ok()?;
        let message = format!("no flow has packets of at most {limit}: none with data can wait here");
        let help = format!("write at least \"{}\"", Bytes(size));
        (limit.0 < size).then(|| Problem::at(format!("{path}.limit_bytes"), message).help(help))
    };
    queues(scenario).into_iter().filter_map(warn).collect()
}

/// Queues of the whole network that no link uses: every link has its own queue, or there are no mobile hosts.
fn unused_queues(scenario: &Scenario) -> Vec<Problem> {
    let usual = NetworkSpec::default();
    let is_own = |own: &QueueSpec, usual: &QueueSpec| {
        serde_json::to_value(own).ok() != serde_json::to_value(usual).ok()
    };
    let network = &scenario.network;
    let mut found = Vec::new();
    let is_used = scenario.links.iter().any(|link| link.queue.is_none())
        || scenario
            .cells
            .values()
            .any(|cell| cell.backhaul.queue.is_none() || cell.backhaul.reverse_queue.is_none());
    if is_own(&network.queue, &usual.queue) && !is_used {
        let message = "every link has its own queue: no link uses this one";
        found
            .push(Problem::at("network.queue", message).help("leave the `queue` of a link out, or this one"));
    }
    if is_own(&network.uplink_queue, &usual.uplink_queue) && scenario.hosts.is_empty() {
        let message = "there are no mobile hosts: no link uses this queue";
        found.push(
            Problem::at("network.uplink_queue", message)
                .help("write the queue in its link, or `network.queue`"),
        );
    }
    found
}

/// Thresholds of 802.11 that no frame exceeds, except the one that the standard writes for "never".
fn unused_rts(scenario: &Scenario) -> Vec<Problem> {
    const NEVER: Bytes = Bytes(2347); // dot11RTSThreshold's default
    const ADDED: u64 = 36; // MAC header, check sequence, LLC and SNAP
    let largest =
        scenario.flows.iter().map(|flow| packet(scenario, flow)).max().unwrap_or_default().max(1500) + ADDED;
    let unused = scenario.cells.iter().filter_map(|(name, cell)| match &cell.medium {
        MediumSpec::Dcf(params) if params.rts_threshold != NEVER && params.rts_threshold.0 >= largest => {
            Some((name, params.rts_threshold))
        }
        _ => None,
    });
    let warn = |(name, threshold): (&String, Bytes)| {
        let message = format!("no frame of this scenario is longer than {threshold}: no RTS is sent");
        let field = format!("cells.{}.medium.rts_threshold", quoted_key(name));
        Problem::at(field, message)
            .help("write a smaller size, for example \"500 B\", or leave it out for no RTS")
    };
    unused.map(warn).collect()
}

/// Levels of a cell at a host that are above what a transmitter radiates.
fn signless_levels(scenario: &Scenario) -> Option<Problem> {
    const STRONGEST_DBM: f64 = 30.0;
    let peak = scenario.radio.measurement()?.peak_dbm;
    let message = format!(
        "{peak} dBm is more than a transmitter radiates: a phone receives less than a milliwatt, 0 dBm"
    );
    let problem = Problem::at("radio.measurement.peak_dbm", message);
    (peak > STRONGEST_DBM).then(|| problem.help(format!("write for example {:.1}", -peak)))
}

/// Channels that are written so near to each other that they overlap at 2.4 GHz.
fn overlapping_channels(scenario: &Scenario) -> Vec<Problem> {
    const APART: u32 = 5;
    let written: Vec<_> =
        scenario.cells.iter().filter_map(|(name, cell)| Some((name, cell.channel?))).collect();
    let mut found = Vec::new();
    for (place, &(name, channel)) in written.iter().enumerate() {
        let near = written[..place].iter().find(|(_, other)| {
            let apart = other.abs_diff(channel);
            0 < apart && apart < APART
        });
        if let Some((other, before)) = near {
            let message = format!(
                "channels {before} of \"{other}\" and {channel} overlap at 2.4 GHz; here cells on different channels do not disturb each other"
            );
            let problem = Problem::at(format!("cells.{}.channel", quoted_key(name)), message);
            found.push(problem.help("write channels that are five apart, as 1, 6 and 11"));
        }
    }
    found
}

/// True if a host may change its cell.
pub fn moves(host: &HostSpec) -> bool {
    host.plan.is_some() || host.stays().len() > 1
}
