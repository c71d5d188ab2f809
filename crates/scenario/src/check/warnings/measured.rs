//! Warnings of hosts that measure: conditions that hold too late or too early, cells out of coverage, ways that end before any cell.

use crate::check::mobility::{at, fields_of, time};
use crate::problem::{Problem, quoted_key};
use crate::schema::{CellSpec, HostSpec, Scenario};
use roamlab_engine::Duration;
use roamlab_radio::{MeasurementSpec, MediumSpec, PathLoss, Scan, SignalSpec, Trajectory, distance};
use serde_json::Value;

/// All such warnings of positions.
pub fn warnings(scenario: &Scenario) -> Vec<Problem> {
    let mut found = unfinished_trajectories(scenario);
    found.extend(near_transmitters(scenario));
    found.extend(out_of_coverage(scenario));
    found
}

/// Warnings of levels, conditions and scans, in groups of which the first field that is written counts.
pub fn of_written(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut found: Vec<_> = fast_fading(scenario).into_iter().collect();
    for (table, spec) in scenario.protocols() {
        let Some(fields) = fields_of(spec) else { continue };
        found.extend(late_event(scenario, &table, &fields));
        found.extend(early_event(&table, &fields));
        found.extend(early_candidates(&table, &fields));
    }
    found.extend(long_scans(scenario));
    found.extend(lossy(scenario).into_iter().map(|problem| vec![problem]));
    found.extend(strange_powers(scenario).into_iter().map(|problem| vec![problem]));
    found
}

/// The largest path loss exponent that is measured indoors and out, with a margin; a slope per decade is ten times as large.
const STEEPEST: f64 = 8.0;

/// The most that is lost over one metre, in dB: in free space 76 dB at 150 GHz.
const MOST_AT_1_M_DB: f64 = 80.0;

/// A standard deviation of shadowing above all that are measured.
const MOST_SHADOWED_DB: f64 = 20.0;

/// Kilometres in metres, as a part of a path loss: 3 decades.
const DECADES_OF_KM: f64 = 3.0;

/// Path losses in the form of 3GPP, 128.1 + 37.6·log10(km): a slope per decade, and the loss at a kilometre.
fn lossy(scenario: &Scenario) -> Vec<Problem> {
    let Some(measured) = scenario.radio.measurement().filter(|spec| spec.signal == SignalSpec::Positions)
    else {
        return Vec::new();
    };
    let loss = &measured.path_loss;
    let mut found = Vec::new();
    let mut warn = |part: &str, message: String, help: String| {
        found.push(Problem::at(format!("radio.measurement.path_loss.{part}"), message).help(help));
    };
    if loss.loss_at_1_m_db < 0.0 {
        let gained = -loss.loss_at_1_m_db;
        let message =
            format!("a loss below 0 dB is a gain: at 1 m a host receives {gained} dB more than is sent");
        warn("loss_at_1_m_db", message, format!("write {}", rounded(gained)));
    }
    let exponent = if loss.exponent > STEEPEST { loss.exponent / 10.0 } else { loss.exponent };
    if loss.exponent > STEEPEST {
        let message = format!(
            "an exponent is 2 to 6, and {} dB are the slope for each decade of distance: ten times the exponent",
            loss.exponent
        );
        warn("exponent", message, format!("write {}", rounded(exponent)));
    }
    if loss.loss_at_1_m_db > MOST_AT_1_M_DB {
        let message = format!(
            "{} dB are a loss at 1 km, as 3GPP's formulas have it: at 1 m less is lost",
            loss.loss_at_1_m_db
        );
        let nearer = loss.loss_at_1_m_db - DECADES_OF_KM * 10.0 * exponent;
        let help = match nearer > 0.0 {
            true => format!(
                "write {}, which with the exponent {} is {} dB at 1 km",
                rounded(nearer),
                rounded(exponent),
                loss.loss_at_1_m_db
            ),
            false => "write the loss at 1 m, for example 15.3 with the exponent 3.76".into(),
        };
        warn("loss_at_1_m_db", message, help);
    }
    found.extend(shadowed(loss));
    found
}

/// Shadowing of an unusual spread, or of a distance that does not fit.
fn shadowed(loss: &PathLoss) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut warn = |part: &str, message: String, help: String| {
        found.push(Problem::at(format!("radio.measurement.path_loss.{part}"), message).help(help));
    };
    if loss.shadowing_db > MOST_SHADOWED_DB {
        let message = format!(
            "a standard deviation of {} dB: measured ones are 3 to 12 dB, and one host in three is further off than this",
            loss.shadowing_db
        );
        warn("shadowing_db", message, "write for example 8.0".into());
    }
    if loss.shadowing_db == 0.0 {
        let message = "without `shadowing_db` nothing reads this".into();
        warn("correlation_m", message, "write for example `shadowing_db = 8.0`, or leave this out".into());
    }
    if loss.shadowing_db > 0.0 && loss.correlation_m < REFERENCE_M {
        let message = format!(
            "shadowing is another one after {} m: within each step of a host the level jumps",
            loss.correlation_m
        );
        warn("correlation_m", message, "this is in metres: write for example 50.0".into());
    }
    found
}

/// A number as TOML has it, without the digits of rounding.
fn rounded(number: f64) -> String {
    format!("{:?}", (number * 1e6).round() / 1e6)
}

/// Levels that no resource element is sent with: the power of a whole cell, and what a host receives. The first one.
fn strange_powers(scenario: &Scenario) -> Option<Problem> {
    const STRONGEST_DBM: f64 = 30.0;
    const WEAKEST_DBM: f64 = -40.0;
    const ELEMENTS_DB: f64 = 27.8; // of 600, the subcarriers of 10 MHz
    let mut known = scenario
        .cells
        .iter()
        .filter_map(|(name, cell)| Some((name, cell.transmitter.as_ref()?.reference_signal_dbm)));
    let (name, power) = known.find(|(_, power)| !(WEAKEST_DBM..=STRONGEST_DBM).contains(power))?;
    let (message, help) = if power > STRONGEST_DBM {
        let each = ((power - ELEMENTS_DB) * 10.0).round() / 10.0;
        let message = format!(
            "{power} dBm are the power of a whole cell: this is that of its reference signal, in one resource element"
        );
        (message, format!("write {}, for 600 elements (10 MHz)", rounded(each)))
    } else {
        let message = format!("{power} dBm are a level that a host receives: this is what the cell sends");
        (message, "write for example 15.0".into())
    };
    let field = format!("cells.{}.transmitter.reference_signal_dbm", quoted_key(name));
    Some(Problem::at(field, message).help(help))
}

/// A condition of event A3 that holds when the link of the old cell fails, or never.
fn late_event(scenario: &Scenario, table: &str, fields: &Value) -> Option<Vec<Problem>> {
    let measured = scenario.radio.measurement()?;
    let trigger = time(fields, "measurement.time_to_trigger")?;
    let part = |name: &str| format!("{table}.measurement.{name}");
    if measured.signal != SignalSpec::Schedule || measured.slope_db_per_s <= 0.0 {
        let message = format!(
            "a neighbour has to be better for {trigger}, and the run ends at {}: no handover is prepared",
            scenario.run.duration
        );
        let problem = Problem::at(part("time_to_trigger"), message);
        let help = "write a shorter time, or lengthen `run.duration`";
        return (trigger >= scenario.run.duration).then(|| vec![problem.help(help)]);
    }
    let fades = fades(measured);
    let counted = measured.period.saturating_mul(u64::from(measured.n310.saturating_sub(1)));
    let fails = fades + counted + measured.t310;
    if trigger >= fails {
        let message = format!(
            "a neighbour has to be better for {trigger}, and the link of the old cell fails after {fails}: no handover is prepared"
        );
        let help = "write a shorter time, or a smaller `radio.measurement.slope_db_per_s`";
        return Some(vec![Problem::at(part("time_to_trigger"), message).help(help)]);
    }
    let number = |name: &str| at(fields, &format!("measurement.{name}")).and_then(Value::as_f64);
    let (offset, hysteresis) = (number("offset_db")?, number("hysteresis_db")?);
    let own = |cell: &str| scenario.cells.get(cell).map_or(0.0, |cell| cell.individual_offset_db);
    let changes = scenario.hosts.iter().flat_map(|host| host.stays().windows(2));
    let pairs = changes.map(|pair| (pair[0].cell.as_str(), pair[1].cell.as_str()));
    let between = |(from, to): &(&str, &str)| own(from) - own(to);
    let hardest = pairs.max_by(|one, other| between(one).total_cmp(&between(other)));
    let needed = offset + hysteresis + hardest.as_ref().map_or(0.0, between);
    let waits = Duration::from_nanos((needed.max(0.0) / measured.slope_db_per_s * 1e9) as u64);
    if waits + trigger < fades || needed <= 0.0 {
        return None;
    }
    let held = if trigger > Duration::ZERO { format!(" for {trigger}") } else { String::new() };
    let message = format!(
        "a neighbour has to be {needed} dB better{held}: it is {} after the old cell begins to fade, which is inaudible after {fades}: its link fails before a handover is prepared",
        waits + trigger
    );
    let least = measured.peak_dbm - measured.audible_dbm - measured.slope_db_per_s * trigger.as_secs_f64();
    let help = format!(
        "write offsets and a hysteresis of less than {least:.1} dB together, or a smaller `radio.measurement.slope_db_per_s`"
    );
    let mut parts = vec![(offset, part("offset_db")), (hysteresis, part("hysteresis_db"))];
    for (cell, sign) in hardest.iter().flat_map(|(from, to)| [(*from, 1.0), (*to, -1.0)]) {
        parts.push((sign * own(cell), format!("cells.{}.individual_offset_db", quoted_key(cell))));
    }
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut fields: Vec<String> = parts.into_iter().map(|(_, field)| field).collect();
    fields.push(part("time_to_trigger"));
    Some(fields.into_iter().map(|field| Problem::at(field, &message).help(&help)).collect())
}

/// By how much a neighbour has to be better for a condition, in dB.
fn margin(fields: &Value, condition: &str) -> Option<f64> {
    let number = |name: &str| at(fields, &format!("{condition}.{name}")).and_then(Value::as_f64);
    Some(number("offset_db")? + number("hysteresis_db")?)
}

/// A condition that holds in both directions at one time.
fn early_event(table: &str, fields: &Value) -> Option<Vec<Problem>> {
    if at(fields, "conditional").is_some_and(|conditional| !conditional.is_null()) {
        return None;
    }
    let together = margin(fields, "measurement")?;
    let message = format!(
        "a neighbour counts as better while it is {} dB weaker: where two cells are about as strong, a host goes back and forth",
        -together
    );
    let problem = Problem::at(format!("{table}.measurement.offset_db"), message);
    (together < 0.0).then(|| vec![problem.help("write an offset and a hysteresis of 0 or more together")])
}

/// A condition to go to a candidate that holds when the candidate is reported.
fn early_candidates(table: &str, fields: &Value) -> Option<Vec<Problem>> {
    let only_event = "conditional.events[0]";
    let is_only = at(fields, "conditional.events[1]").is_none();
    // Other events have no offset.
    let (goes, reports) = (margin(fields, only_event).filter(|_| is_only)?, margin(fields, "measurement")?);
    if goes >= reports || time(fields, &format!("{only_event}.time_to_trigger"))? > Duration::ZERO {
        return None;
    }
    let message = format!(
        "a host reports a neighbour that is {reports} dB better, and goes to one that is {goes} dB better: it goes as soon as the candidate is prepared"
    );
    let warn = |field: &str, help: &str| Problem::at(format!("{table}.{field}"), &message).help(help);
    let more = format!("write more than {reports} dB with its hysteresis");
    let less = format!("write less than {goes} dB with its hysteresis");
    Some(vec![
        warn("conditional.events[0].offset_db", &more),
        warn("measurement.offset_db", &less),
        warn("measurement.hysteresis_db", &less),
        warn("conditional.events[0].hysteresis_db", &more),
    ])
}

/// Scans and losses of beacons that take longer than the run.
fn long_scans(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let Some(wifi) = scenario.radio.roaming() else { return Vec::new() };
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let (part, listens) = match wifi.scan {
        Scan::Passive => ("radio.passive_channel_time", wifi.passive_channel_time),
        _ => ("radio.min_channel_time", wifi.min_channel_time),
    };
    let takes = listens.saturating_mul(u64::from(wifi.channels));
    if takes >= end {
        let message = format!(
            "a scan of {} channels takes {takes} or more, and the run ends at {end}: no host finds another cell",
            wifi.channels
        );
        found.push(vec![
            Problem::at(part, &message).help("write a shorter time, for example \"20 ms\""),
            Problem::at("radio.channels", message).help("write a smaller number"),
        ]);
    }
    let intervals = scenario.cells.values().filter_map(|cell: &CellSpec| match &cell.medium {
        MediumSpec::Dcf(params) => Some(params.beacon_interval),
        _ => None,
    });
    let missed = u64::from(wifi.missed_beacons);
    if let Some(takes) = intervals.min().map(|interval| interval.saturating_mul(missed))
        && takes >= end
    {
        let message =
            format!("{missed} beacons take {takes}, and the run ends at {end}: no host misses as many");
        let problem = Problem::at("radio.missed_beacons", message);
        found.push(vec![problem.help("write a smaller number, for example 3")]);
    }
    found
}

/// The time from the end of a cell's visit until the cell is inaudible, on a schedule whose levels fall.
fn fades(measured: &MeasurementSpec) -> Duration {
    let seconds = (measured.peak_dbm - measured.audible_dbm) / measured.slope_db_per_s;
    Duration::from_nanos((seconds.max(0.0) * 1e9) as u64)
}

/// Cells that a host cannot hear any more when it measures for the first time behind their border.
fn fast_fading(scenario: &Scenario) -> Option<Vec<Problem>> {
    let measured = scenario.radio.reported_measurement()?;
    if measured.signal != SignalSpec::Schedule || measured.slope_db_per_s <= 0.0 {
        return None;
    }
    let fades = fades(measured);
    let period = measured.period;
    let message = format!(
        "a cell is inaudible {fades} behind its border, and a host measures every {period}: the link fails before a handover is prepared"
    );
    let fields = [
        ("slope_db_per_s", "write a smaller number, for example 20.0"),
        ("audible_dbm", "write a lower level, for example -110.0"),
        ("peak_dbm", "write a higher level, for example -80.0"),
        ("period", "write a shorter time, for example \"40 ms\""),
    ];
    let warn =
        |(field, help): (&str, &str)| Problem::at(format!("radio.measurement.{field}"), &message).help(help);
    (fades <= period).then(|| fields.into_iter().map(warn).collect())
}

/// The speed of the fastest train for which mobile networks are specified, 500 km/h (TS 22.261 §7.1), with a margin.
const FASTEST_M_PER_S: f64 = 150.0;

/// Trajectories of which the run sees less than half, and hosts that stay at their first point.
fn unfinished_trajectories(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let warn = |(index, host): (usize, &HostSpec)| {
        let trajectory = host.trajectory.as_ref()?;
        let at = |part: &str| format!("hosts[{index}].trajectory.{part}");
        if let Some(problem) = motionless(trajectory, &at) {
            return Some(problem);
        }
        let length = trajectory.length_m();
        if trajectory.start >= end {
            let message = format!(
                "the host sets out at {}, and the run ends at {end}: it never moves",
                trajectory.start
            );
            let help = "write an earlier time, or lengthen `run.duration`";
            return Some(Problem::at(at("start"), message).help(help));
        }
        let gone = |from: Duration| trajectory.gone_m(end.saturating_sub(from));
        let own = gone(trajectory.start);
        let message = format!(
            "the host goes {own:.1} m of its {length:.0} m until the run ends at {end}: most of its way is never seen"
        );
        let (part, help) = if 2.0 * gone(Duration::ZERO) < length {
            (
                if trajectory.times.is_empty() { "speed_m_per_s" } else { "times" },
                "write a higher speed, lengthen `run.duration`, or leave out the points that it does not reach",
            )
        } else {
            ("start", "write an earlier time, or lengthen `run.duration`")
        };
        (2.0 * own < length).then(|| Problem::at(at(part), message).help(help))
    };
    scenario.hosts.iter().enumerate().filter_map(warn).collect()
}

/// A trajectory on which a host never moves, or faster than any train.
fn motionless(trajectory: &Trajectory, at: &impl Fn(&str) -> String) -> Option<Problem> {
    let (length, speed) = (trajectory.length_m(), trajectory.fastest_m_per_s());
    if length > 0.0 && speed == 0.0 {
        let message = format!("the host stays at the first point of its {length:.0} m: its speed is 0 m/s");
        return Some(
            Problem::at(at("speed_m_per_s"), message)
                .help("write a speed, for example 10.0, or only the point where the host is"),
        );
    }
    if length > 0.0 && length < REFERENCE_M {
        let message =
            format!("the whole way is {length:.2} m long, and path loss grows from {REFERENCE_M} m on");
        return Some(
            Problem::at(at("waypoints_m"), message)
                .help("positions are in metres: write for example [[0.0, 0.0], [1000.0, 0.0]]"),
        );
    }
    if length == 0.0 && speed > 0.0 {
        let message =
            format!("there is one place on this way: the host never moves, for all its {speed} m/s");
        return Some(
            Problem::at(at("waypoints_m"), message)
                .help("add a point, for example [1000.0, 0.0], or leave `speed_m_per_s` out"),
        );
    }
    if speed > FASTEST_M_PER_S {
        let message = format!("{speed} m/s are {:.0} km/h: no train is so fast", 3.6 * speed);
        if !trajectory.times.is_empty() {
            return Some(
                Problem::at(at("times"), message).help("write later times, or points that are nearer"),
            );
        }
        return Some(
            Problem::at(at("speed_m_per_s"), message)
                .help(format!("write {} for {speed} km/h", rounded((speed / 3.6 * 10.0).round() / 10.0))),
        );
    }
    None
}

/// The distance at which path loss begins to grow, in metres.
const REFERENCE_M: f64 = 1.0;

/// Two transmitters so near to each other that path loss tells no host which of them is nearer: the first such pair.
fn near_transmitters(scenario: &Scenario) -> Option<Problem> {
    let mut known: Vec<_> =
        scenario.cells.iter().filter_map(|(name, cell)| Some((name, cell.transmitter.as_ref()?))).collect();
    known.sort_by(|one, other| one.1.position_m[0].total_cmp(&other.1.position_m[0]));
    for (place, (name, transmitter)) in known.iter().enumerate() {
        let after = known[place + 1..].iter();
        let near = after
            .take_while(|(_, other)| other.position_m[0] - transmitter.position_m[0] < REFERENCE_M)
            .find(|(_, other)| {
                distance(transmitter.position_m, other.position_m) < REFERENCE_M
                    && transmitter.reference_signal_dbm == other.reference_signal_dbm
            });
        if let Some((other, at)) = near {
            let message = format!(
                "it is {} m from the transmitter of \"{name}\", and path loss grows from {REFERENCE_M} m on: the two are as strong at every place",
                distance(transmitter.position_m, at.position_m)
            );
            let field = format!("cells.{}.transmitter.position_m", quoted_key(other));
            return Some(
                Problem::at(field, message).help("positions are in metres: write for example [600.0, 0.0]"),
            );
        }
    }
    None
}

/// Standard deviations of shadowing by which a level is never lower or higher.
const SHADOWED: f64 = 4.0;

/// Hosts that do not hear the cell that they begin in.
fn out_of_coverage(scenario: &Scenario) -> Vec<Problem> {
    let Some(measured) = scenario.radio.measurement().filter(|spec| spec.signal == SignalSpec::Positions)
    else {
        return Vec::new();
    };
    let loss = &measured.path_loss;
    let is_at_fault = |problem: &Problem| !problem.field.ends_with("correlation_m");
    if strange_powers(scenario).is_some() || lossy(scenario).iter().any(is_at_fault) {
        return Vec::new(); // the place of the host is not
    }
    let warn = |(index, host): (usize, &HostSpec)| {
        let first = host.trajectory.as_ref()?.waypoints_m.first()?;
        let cell = &host.stays().first()?.cell;
        let transmitter = scenario.cells.get(cell)?.transmitter.as_ref()?;
        let far = distance(*first, transmitter.position_m);
        let level = transmitter.reference_signal_dbm - loss.at(far);
        let message = format!(
            "the first point is {far:.0} m from the transmitter of \"{cell}\": the host receives it with {level:.0} dBm, and a cell below {} dBm is not heard",
            measured.audible_dbm
        );
        let most = level + SHADOWED * loss.shadowing_db;
        let usual = roamlab_radio::MeasurementSpec::default().audible_dbm;
        let (field, help) = match most >= usual {
            true => (
                "radio.measurement.audible_dbm".into(),
                format!("write a lower level, for example {usual:?}"),
            ),
            false => (
                format!("hosts[{index}].trajectory.waypoints_m"),
                "positions are in metres: write a nearer point first, or another first cell".into(),
            ),
        };
        (most < measured.audible_dbm).then(|| Problem::at(field, message).help(help))
    };
    scenario.hosts.iter().enumerate().filter_map(warn).collect()
}
