//! Warnings of times that another time makes useless: longer than the run, or ended by something that comes before.

use super::mismatched::fields_of;
use super::warnings::MOST_WARNINGS;
use crate::problem::{Problem, quoted_key};
use crate::schema::Scenario;
use roamlab_engine::Duration;
use roamlab_radio::SignalSpec;

/// Delays, an overlap, faults and trajectories that the run does not outlast.
pub fn longer_than_the_run(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let mut delayed = |field: String, delay: Duration| {
        // A large network has a hundred thousand links, and the first warnings are shown.
        if delay >= end && found.len() < MOST_WARNINGS {
            let message = format!(
                "what is sent here arrives {delay} later, and the run ends at {end}: nothing arrives"
            );
            found.push(Problem::at(field, message).help("write a shorter time, or lengthen `run.duration`"));
        }
    };
    for (index, link) in scenario.links.iter().enumerate() {
        delayed(format!("links[{index}].delay"), link.delay);
    }
    for (name, cell) in &scenario.cells {
        delayed(format!("cells.{}.delay", quoted_key(name)), cell.delay);
    }
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

/// Times of protocols that are written, and that the radio link ends first.
pub fn of_written(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut found = Vec::new();
    let gap = scenario.radio.gap();
    for (table, spec) in scenario.protocols() {
        let Some(fields) = fields_of(spec) else { continue };
        let time = |pointer: &str| fields.pointer(pointer)?.as_str()?.parse::<Duration>().ok();
        if let Some(hold) = time("/buffer/hold").filter(|&hold| Duration::ZERO < hold && hold <= gap) {
            let message = format!(
                "the buffer is given up after {hold}, and a host is between two cells for {gap}: nothing is left for it"
            );
            found.push(vec![
                Problem::at(format!("{table}.buffer.hold"), &message)
                    .help(format!("write more than \"{gap}\"")),
                Problem::at("radio.gap", message)
                    .help(format!("write less than \"{hold}\", or a longer `buffer.hold`")),
            ]);
        }
        let Some(trigger) = time("/measurement/time_to_trigger") else { continue };
        let Some(measured) = scenario.radio.measurement() else { continue };
        let field = format!("{table}.measurement.time_to_trigger");
        if measured.signal == SignalSpec::Schedule && measured.slope_db_per_s > 0.0 {
            let fades = (measured.peak_dbm - measured.audible_dbm) / measured.slope_db_per_s;
            let fails = Duration::from_nanos((fades.max(0.0) * 1e9) as u64) + measured.t310;
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
