//! Rates and delays from files: what they exclude, and files that do not fit their fields.

use crate::problem::{Problem, quoted_key};
use crate::schema::{ChangeSpec, LinkDelay, LinkRate, LinkSpec, RecordedDelay, Scenario, TableRate};
use roamlab_engine::{Duration, InputFile};
use roamlab_radio::AtEnd;

/// Checks the rates and delays of links and cells that are from files.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    for (index, link) in scenario.links.iter().enumerate() {
        let field = || format!("links[{index}]");
        check_files((&link.rate, &link.delay), field)?;
        check_rate_alone(link, field)?;
        check_delay_alone(link, field)?;
    }
    for (name, cell) in &scenario.cells {
        check_files((&cell.rate, &cell.delay), || format!("cells.{}", quoted_key(name)))?;
    }
    Ok(())
}

/// A rate from a file is the only one of its link.
fn check_rate_alone(link: &LinkSpec, field: impl Fn() -> String) -> Result<(), Problem> {
    if !link.rate.is_recorded() {
        return Ok(());
    }
    if link.reverse_rate.is_some() {
        let problem = Problem::at(
            format!("{}.reverse_rate", field()),
            "a recorded link has no constant rate in the other direction",
        );
        return Err(problem.help(match link.rate {
            LinkRate::Channel(_) => "write `rate = { channel = …, reverse_channel = … }`; a channel of one state has a constant rate",
            LinkRate::Table(_) => "write `rate = { table = \"FILE\", reverse = \"FILE\" }`; a table of one row is a constant rate",
            _ => "write `rate = { trace = \"FILE\", reverse = \"FILE\" }`",
        }));
    }
    let changed = |change: &ChangeSpec| change.rate.or(change.reverse_rate).is_some();
    let Some(number) = link.changes.iter().position(changed) else { return Ok(()) };
    let name = if link.changes[number].rate.is_some() { "rate" } else { "reverse_rate" };
    let message = match link.rate {
        LinkRate::Channel(_) => "expected no rate: the rates of this link are drawn by its channel",
        LinkRate::Table(_) => "expected no rate: the rates of this link are in its table",
        _ => "expected no rate: a recorded link sends at the times of its trace",
    };
    let problem = Problem::at(format!("{}.changes[{number}].{name}", field()), message);
    Err(problem.help(match link.rate {
        LinkRate::Table(_) => {
            "write a row of the table at this time instead, or the link's rate as a constant"
        }
        _ => "change `delay` or `up`, or write the link's rate as a constant",
    }))
}

/// The same of a delay.
fn check_delay_alone(link: &LinkSpec, field: impl Fn() -> String) -> Result<(), Problem> {
    let Some(delay) = link.delay.recorded() else { return Ok(()) };
    if link.reverse_delay.is_some() && delay.reverse.is_some() {
        let problem = Problem::at(
            format!("{}.reverse_delay", field()),
            "the delay of the other direction is in a file already, `delay.reverse`",
        );
        return Err(problem.help("remove one of the two"));
    }
    let changed = |change: &ChangeSpec| change.delay.or(change.reverse_delay).is_some();
    let Some(number) = link.changes.iter().position(changed) else { return Ok(()) };
    let name = if link.changes[number].delay.is_some() { "delay" } else { "reverse_delay" };
    let message = "expected no delay: the delays of this link are in its file";
    let problem = Problem::at(format!("{}.changes[{number}].{name}", field()), message);
    Err(problem.help("write a row of the file at this time instead, or the link's delay as a constant"))
}

fn check_files((rate, delay): (&LinkRate, &LinkDelay), field: impl Fn() -> String) -> Result<(), Problem> {
    if let LinkRate::Table(rate) = rate {
        check_ends(rate, &field)?;
    }
    delay.recorded().map_or(Ok(()), |delay| check_steps(delay, &field))
}

/// A link that holds its last rate can send with it.
fn check_ends(rate: &TableRate, field: impl Fn() -> String) -> Result<(), Problem> {
    for (name, file) in [("table", Some(&rate.table)), ("reverse", rate.reverse.as_ref())] {
        let content = file.and_then(InputFile::content);
        if rate.at_end == AtEnd::Hold && content.is_some_and(|series| series.ends_silent()) {
            let message = "the last rate of this file is 0, and is held: nothing is sent any more";
            let problem = Problem::at(format!("{}.rate.{name}", field()), message);
            return Err(problem.help("write a last row with a rate above 0, or `at_end = \"repeat\"`"));
        }
    }
    Ok(())
}

/// A file of lines has a step, a table has none.
fn check_steps(delay: &RecordedDelay, field: impl Fn() -> String) -> Result<(), Problem> {
    if delay.step == Some(Duration::ZERO) {
        let problem = Problem::at(format!("{}.delay.step", field()), "expected more than 0 s, got 0 s");
        return Err(problem.help("write the time between two lines, for example \"10 ms\""));
    }
    for (name, file) in [("trace", Some(&delay.trace)), ("reverse", delay.reverse.as_ref())] {
        let Some(series) = file.and_then(InputFile::content) else { continue };
        if series.is_lines() && delay.step.is_none() {
            let message = "this file has a delay on each line, and how long each holds is not known";
            let problem = Problem::at(format!("{}.delay.{name}", field()), message);
            return Err(problem.help("write `step = \"10 ms\"` too, if a line is for 10 ms"));
        }
        if !series.is_lines() && delay.step.is_some() {
            let message = "this file is a table, which has its times";
            let problem = Problem::at(format!("{}.delay.step", field()), message);
            return Err(problem.help("remove `step`, or name a file with a delay on each line"));
        }
    }
    Ok(())
}
