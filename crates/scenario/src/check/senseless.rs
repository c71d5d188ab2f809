//! Warnings of values that are valid one by one, and that no run of this length, link or packet can use.

use super::queues::queues;
use crate::problem::{Problem, quoted_key};
use crate::schema::{FlowSpec, HostSpec, LinkRate, NetworkSpec, Scenario};
use roamlab_engine::{Bytes, Duration, Rate};
use roamlab_qdisc::QueueSpec;
use roamlab_radio::MediumSpec;
use roamlab_traffic::AppSpec;
use rustc_hash::FxHashMap;

/// All such warnings.
pub fn warnings(scenario: &Scenario) -> Vec<Problem> {
    let mut found = Vec::new();
    let fastest = fastest(scenario);
    let flows = scenario.flows.iter().enumerate();
    found.extend(flows.flat_map(|(index, flow)| of_flow(scenario, &fastest, index, flow)));
    found.extend(unused_rts(scenario));
    found.extend(overlapping_channels(scenario));
    found.extend(slow_links(scenario));
    found.extend(slow_frames(scenario));
    found.extend(signless_levels(scenario));
    found.extend(small_limits(scenario));
    found.extend(unused_queues(scenario));
    found
}

/// The largest packet that a link carries without fragments: a jumbo frame's.
const LARGEST_PACKET: Bytes = Bytes(9000);

/// The longest time for which a receiver may hold an ACK (RFC 5681 §4.2).
const LONGEST_DELAY: Duration = Duration::from_millis(500);

/// The largest window in a TCP header without a scale.
const LARGEST_UNSCALED: u64 = 65_535;

/// What a flow writes that its run cannot use.
fn of_flow(scenario: &Scenario, fastest: &Fastest<'_>, index: usize, flow: &FlowSpec) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let mut warn = |part: &str, message: String, help: &str| {
        let field = match (part.strip_prefix("transport."), flow.transport.tcp()) {
            (Some(name), Some(tcp)) => super::profiles::place(scenario, index, tcp, name),
            _ => format!("flows[{index}].{part}"),
        };
        found.push(Problem::at(field, message).help(help));
    };
    if let Some(stop) = flow.app.stop().filter(|&stop| stop > end) {
        let message = format!("the flow would stop at {stop}: the run ends at {end}");
        warn("app.stop", message, "lengthen `run.duration`, write an earlier time, or leave it out");
    }
    if let Some(tcp) = flow.transport.tcp()
        && let Ok(params) = scenario.resolve(tcp)
    {
        let profile = scenario.profile_of(tcp);
        let (segment, header) = (params.segment, params.header);
        if tcp.segment.is_some() && Bytes(segment.0 + header.0) > LARGEST_PACKET {
            let message = format!(
                "with its header a segment has {}: Ethernet's packets have at most 1500 B, or {LARGEST_PACKET} in jumbo frames",
                Bytes(segment.0 + header.0)
            );
            warn(
                "transport.segment",
                message,
                "write for example \"1448 B\"; how much may be in flight is `window`",
            );
        }
        if let Some(first) = tcp.initial_window.filter(|&first| first > params.window) {
            let message =
                format!("the first window of {first} is larger than the largest one of {}", params.window);
            warn("transport.initial_window", message, "write a smaller number, or a larger `window`");
        }
        if tcp.header.is_some() && tcp.segment.is_none() && header > segment {
            let message = format!("a header of {header} is larger than its segment of {segment}");
            warn("transport.header", message, "write for example \"40 B\"");
        }
        if profile.ack_size.is_some() && params.ack_size.0 > segment.0 + header.0 {
            let data = Bytes(segment.0 + header.0);
            let message =
                format!("an ACK of {} is larger than a segment with its header, {data}", params.ack_size);
            warn("transport.ack_size", message, "write for example \"40 B\"");
        }
        if tcp.segment.is_some() && segment < header {
            let message = format!("a segment of {segment} is smaller than its header of {header}");
            warn("transport.segment", message, "write for example \"1448 B\"");
        }
        if let Some(held) = tcp.delayed_ack.filter(|held| *held > LONGEST_DELAY || *held >= params.min_rto) {
            let message = match held > LONGEST_DELAY {
                true => format!(
                    "no receiver holds an ACK for {held}: {LONGEST_DELAY} is the most (RFC 5681 §4.2)"
                ),
                false => format!(
                    "an ACK is held for {held}, and the retransmission timer may run for {} only",
                    params.min_rto
                ),
            };
            warn("transport.delayed_ack", message, "write a shorter time, for example \"40 ms\"");
        }
        let bytes = u64::from(params.window.0) * params.segment.0;
        if !params.window_scaling
            && profile.window_scaling.is_some()
            && bytes > LARGEST_UNSCALED
            && !params.is_ns2()
        {
            let message = format!(
                "without a scale a receiver announces at most {LARGEST_UNSCALED} B, and a window of {} has {}",
                params.window,
                Bytes(bytes)
            );
            let help = "write `window_scaling = true`, or a smaller `window`";
            warn("transport.window_scaling", message, help);
        }
        if let Some(tick) = profile.tick.filter(|&tick| tick >= end) {
            let message =
                format!("timers expire at ticks, {tick} apart, and the run ends at {end}: none expires");
            warn("transport.tick", message, "write a shorter time, for example \"10 ms\"");
        }
        if let Some(first) = tcp.initial_rto.filter(|&first| first >= end) {
            let message =
                format!("a lost SYN is sent again after {first}, and the run ends at {end}: none is");
            warn("transport.initial_rto", message, "write a shorter time, for example \"1 s\"");
        }
        if tcp.min_rto.is_some_and(|least| least >= end) {
            let message = format!(
                "the retransmission timer runs for {} at least, and the run ends at {end}: it never expires",
                params.min_rto
            );
            warn(
                "transport.min_rto",
                message,
                "write a shorter time, for example \"200 ms\", or lengthen `run.duration`",
            );
        }
    }
    if let Some(quic) = flow.transport.quic().filter(|quic| quic.datagram > LARGEST_PACKET) {
        let message = format!(
            "a datagram has {}: Ethernet's packets have at most 1500 B, or {LARGEST_PACKET} in jumbo frames",
            quic.datagram
        );
        warn("transport.datagram", message, "write for example \"1200 B\"");
    }
    if let AppSpec::Conference(call) = &flow.app
        && call.frame_rate > 0.0
    {
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
    if let AppSpec::Cbr(stream) = &flow.app {
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
        if let Some(widest) = widest(fastest, flow)
            && stream.rate.as_bps() / TOO_MUCH >= widest.as_bps()
        {
            let message = format!(
                "it sends {}, and the network gives an end of this flow at most {widest}: {TOO_MUCH} or more times as much is offered as passes",
                stream.rate
            );
            warn("app.rate", message, "write a lower rate");
        }
    }
    if let AppSpec::Dash(film) = &flow.app
        && let (Some(&lowest), Some(widest)) = (film.rates.first(), widest(fastest, flow))
        && lowest > widest
    {
        let message = format!(
            "the lowest quality needs {lowest}, and the network gives an end of this flow at most {widest}: the film stalls for ever"
        );
        warn("app.rates", message, "write a lower rate first");
    }
    found
}

/// A load of more than this many times the rate of its path is taken for a mistake.
pub const TOO_MUCH: u64 = 20;

fn steady(rate: &LinkRate) -> Option<Rate> {
    match rate {
        LinkRate::Constant(rate) => Some(*rate),
        LinkRate::Recorded(_) => None,
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
fn packet(scenario: &Scenario, flow: &FlowSpec) -> u64 {
    match &flow.app {
        AppSpec::Cbr(params) => params.packet.0,
        AppSpec::Voip(_) => 200, // G.711's 20 ms and 40 B of headers
        _ => scenario.tcp_of(flow).map_or(1500, |params| params.segment.0 + params.header.0 + 12),
    }
}

/// The smallest of the flows' largest packets: what a link or a queue cannot carry, it carries for no flow.
pub fn smallest_packet(scenario: &Scenario) -> Option<u64> {
    scenario.flows.iter().map(|flow| packet(scenario, flow)).min()
}

/// A retransmission timer before the first round-trip time is known (RFC 6298 §2.1).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// Links on which one packet takes as long as the run, or as a sender waits for its ACK.
fn slow_links(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let Some(size) = smallest_packet(scenario) else { return Vec::new() };
    let answered = scenario.flows.iter().any(|flow| flow.transport.has_connection());
    let mut rates: Vec<(String, Option<Rate>)> = Vec::new();
    for (index, link) in scenario.links.iter().enumerate() {
        rates.push((format!("links[{index}].rate"), steady(&link.rate)));
        rates.push((format!("links[{index}].reverse_rate"), link.reverse_rate));
    }
    for (name, cell) in &scenario.cells {
        rates.push((format!("cells.{}.rate", quoted_key(name)), steady(&cell.rate)));
        rates.push((format!("cells.{}.backhaul.rate", quoted_key(name)), Some(cell.backhaul.rate)));
    }
    let warn = |(field, rate): (String, Option<Rate>)| {
        let takes = rate?.transmission_time(Bytes(size), &mut 0);
        let (limit, effect) = match takes >= end || !answered {
            true => (end, format!("the run ends at {end}: no data passes")),
            false => {
                (FIRST_TIMEOUT, format!("a sender waits {FIRST_TIMEOUT} for the first ACK: it times out"))
            }
        };
        let message = format!("one packet of {} takes {takes} at this rate, and {effect}", Bytes(size));
        let help = "write a higher rate, for example \"2 Mbit/s\"";
        (takes >= limit).then(|| Problem::at(field, message).help(help))
    };
    rates.into_iter().filter_map(warn).collect()
}

/// Frames that take so long, whatever their bytes, that no answer comes in time.
fn slow_frames(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let answered = scenario.flows.iter().any(|flow| flow.transport.has_connection());
    let warn = |(name, cell): (&String, &crate::schema::CellSpec)| {
        let MediumSpec::Shared(medium) = &cell.medium else { return None };
        let (takes, both) = (medium.per_frame, medium.per_frame + medium.per_frame);
        let message = match takes >= end || !answered {
            true => format!("a frame takes {takes}, and the run ends at {end}: no data passes"),
            false => format!(
                "a packet and its ACK take {both} in their frames, and a sender waits {FIRST_TIMEOUT} for the first ACK: it times out"
            ),
        };
        let problem = Problem::at(format!("cells.{}.medium.per_frame", quoted_key(name)), message);
        (takes >= end || (answered && both >= FIRST_TIMEOUT))
            .then(|| problem.help("write a shorter time, for example \"100 us\""))
    };
    scenario.cells.iter().filter_map(warn).collect()
}

/// The time that a packet of this size, in bytes, takes on the link of a queue, if its rate is constant.
pub fn packet_time(scenario: &Scenario, queue: &str, size: u64) -> Option<Duration> {
    let number = |path: &str| path.strip_prefix("links[")?.split_once(']')?.0.parse::<usize>().ok();
    let cell = || {
        let path = queue.strip_prefix("cells.").filter(|path| !path.contains(".backhaul."))?;
        let of = |name: &&String| path.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'));
        scenario.cells.get(scenario.cells.keys().find(of)?)
    };
    let rate = match number(queue) {
        Some(index) => {
            let link = scenario.links.get(index)?;
            let back = if queue.ends_with("reverse_queue") { link.reverse_rate } else { None };
            back.or(steady(&link.rate))
        }
        None => steady(&cell()?.rate),
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

/// Thresholds of 802.11 that no frame exceeds, but for the one that the standard writes for "never".
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

/// Whether a host may change its cell.
pub fn moves(host: &HostSpec) -> bool {
    host.plan.is_some() || host.stays().len() > 1
}
