//! Warnings of times that another time makes useless: longer than the run, or ended by something that comes before.

use super::mobility::{fields_of, time};
use crate::problem::{Problem, quoted_key};
use crate::schema::Scenario;
use roamlab_engine::Duration;
use roamlab_radio::{MeasurementSpec, SignalSpec};
use rustc_hash::FxHashMap;

/// Delays, an overlap, faults and trajectories that the run does not outlast. Links are looked at as the warnings are taken:
/// a large network has a hundred thousand.
pub fn longer_than_the_run(scenario: &Scenario) -> impl Iterator<Item = Problem> {
    let end = scenario.run.duration;
    let links = scenario.links.iter().enumerate().flat_map(|(index, link)| {
        [("delay", Some(link.delay)), ("reverse_delay", link.reverse_delay)]
            .map(|(field, delay)| (format!("links[{index}].{field}"), delay))
    });
    let cells = scenario
        .cells
        .iter()
        .map(|(name, cell)| (format!("cells.{}.delay", quoted_key(name)), Some(cell.delay)));
    let delayed = links.chain(cells).filter_map(move |(field, delay)| {
        let delay = delay.filter(|&delay| delay >= end)?;
        let message =
            format!("what is sent here arrives {delay} later, and the run ends at {end}: nothing arrives");
        Some(Problem::at(field, message).help("write a shorter time, or lengthen `run.duration`"))
    });
    delayed.chain(other_long_times(scenario))
}

fn other_long_times(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let overlap = scenario.radio.overlap();
    if overlap >= end {
        let message = format!(
            "a host stays in the cell before for {overlap}, and the run ends at {end}: it leaves none"
        );
        found.push(
            Problem::at("radio.overlap", message).help("write a shorter time, or lengthen `run.duration`"),
        );
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        if let Some(delay) = fault.delay.filter(|&delay| delay >= end) {
            let message =
                format!("the message would go {delay} later, and the run ends at {end}: it is lost instead");
            let help = "write a shorter time, or leave it out: a fault without `delay` loses the message";
            found.push(Problem::at(format!("faults[{index}].delay"), message).help(help));
        }
    }
    found.extend(unfinished_trajectories(scenario));
    found.extend(slow_cells(scenario));
    found
}

/// Trajectories of which the run sees less than half.
fn unfinished_trajectories(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let warn = |(index, host): (usize, &crate::schema::HostSpec)| {
        let trajectory = host.trajectory.as_ref()?;
        let length = trajectory.length_m();
        let gone = trajectory.speed_m_per_s * end.saturating_sub(trajectory.start).as_secs_f64();
        let message = format!(
            "the host goes {gone:.0} m of its {length:.0} m until the run ends at {end}: most of its way is never seen"
        );
        let help =
            "write a higher speed, lengthen `run.duration`, or leave out the points that it does not reach";
        (trajectory.speed_m_per_s > 0.0 && 2.0 * gone < length)
            .then(|| Problem::at(format!("hosts[{index}].trajectory.speed_m_per_s"), message).help(help))
    };
    scenario.hosts.iter().enumerate().filter_map(warn).collect()
}

/// Cells in which no host is long enough for a packet to arrive.
fn slow_cells(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    if scenario.radio.measurement().is_some() || scenario.hosts.iter().any(|host| host.plan.is_some()) {
        return Vec::new();
    }
    let mut longest: FxHashMap<&str, Duration> = FxHashMap::default();
    for (cell, stay) in super::ways::stays(scenario) {
        let known = longest.entry(cell).or_default();
        *known = (*known).max(stay);
    }
    let warn = |(name, cell): (&String, &crate::schema::CellSpec)| {
        let stay = *longest.get(name.as_str()).filter(|&&stay| stay > Duration::ZERO)?;
        let message = format!(
            "a packet takes {} over the air, and no host is longer than {stay} in this cell: nothing arrives here",
            cell.delay
        );
        let problem = Problem::at(format!("cells.{}.delay", quoted_key(name)), message);
        (stay <= cell.delay && cell.delay < end)
            .then(|| problem.help("write a shorter time, for example \"3 ms\""))
    };
    scenario.cells.iter().filter_map(warn).collect()
}

/// Times of measurements and paths that are written, and that another one ends first.
pub fn of_written(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut found: Vec<_> = fast_fading(scenario).into_iter().collect();
    found.extend(frequent_alarms(scenario));
    for (table, spec) in scenario.protocols() {
        let Some(fields) = fields_of(spec) else { continue };
        let Some(trigger) = time(&fields, "measurement.time_to_trigger") else { continue };
        let Some(measured) = scenario.radio.measurement() else { continue };
        let field = format!("{table}.measurement.time_to_trigger");
        if measured.signal == SignalSpec::Schedule && measured.slope_db_per_s > 0.0 {
            let fails = fades(measured) + measured.t310;
            if trigger >= fails {
                let message = format!(
                    "a neighbour has to be better for {trigger}, and the link of the old cell fails after {fails}: no handover is prepared"
                );
                let help = "write a shorter time, or a smaller `radio.measurement.slope_db_per_s`";
                found.push(vec![Problem::at(field, message).help(help)]);
            }
        } else if trigger >= scenario.run.duration {
            let message = format!(
                "a neighbour has to be better for {trigger}, and the run ends at {}: no handover is prepared",
                scenario.run.duration
            );
            found.push(vec![
                Problem::at(field, message).help("write a shorter time, or lengthen `run.duration`"),
            ]);
        }
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
    let measured = scenario.radio.measurement()?;
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

/// False alarms that come more often than once a round trip.
fn frequent_alarms(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let warn = |(index, flow): (usize, &crate::schema::FlowSpec)| {
        let every = flow.path_change.as_ref()?.false_every?;
        let trip = super::ways::of_flow(scenario, &flow.path).filter(|&trip| every < trip)?;
        let message = format!(
            "a false alarm comes every {every}, and a packet and its ACK take {trip} or more: the sender begins anew all the time"
        );
        let problem = Problem::at(format!("flows[{index}].path_change.false_every"), message);
        Some(vec![problem.help(format!("write more than \"{trip}\""))])
    };
    scenario.flows.iter().enumerate().filter_map(warn).collect()
}
