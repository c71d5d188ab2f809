//! The files that a scenario names, read before it is expanded.

use crate::problem::{Located, Problem, quoted_key};
use crate::schema::{LinkDelay, LinkRate, Scenario};
use roamlab_engine::{InputFile, Recording, Refused};
use roamlab_radio::{LossSpec, PlanSpec};
use roamlab_traffic::AppSpec;

/// Gives the text of a file by its path, or the reason why it cannot. The core reads none itself.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// For scenarios that are read where there are no files.
pub fn no_files(_: &str) -> Result<String, String> {
    Err("no files can be read here".into())
}

/// The fault of a file, or of the field that names it.
pub enum Trouble {
    Field(Problem),
    Line(Box<Located>),
}

/// Reads all files that a scenario names.
pub fn read(scenario: &mut Scenario, files: Files<'_>) -> Result<(), Trouble> {
    for (index, link) in scenario.links.iter_mut().enumerate() {
        let field = || format!("links[{index}]");
        read_shape((&mut link.rate, &mut link.delay), field, files)?;
        read_losses([&mut link.loss, &mut link.reverse_loss], field, files)?;
    }
    for (name, cell) in &mut scenario.cells {
        let field = || format!("cells.{}", quoted_key(name));
        read_shape((&mut cell.rate, &mut cell.delay), field, files)?;
        read_losses([&mut cell.loss, &mut cell.reverse_loss], field, files)?;
        let (backhaul, field) = (&mut cell.backhaul, || format!("cells.{}.backhaul", quoted_key(name)));
        read_losses([&mut backhaul.loss, &mut backhaul.reverse_loss], field, files)?;
    }
    for (index, host) in scenario.hosts.iter_mut().enumerate() {
        if let Some(PlanSpec::Scheduled(params)) = &mut host.plan {
            take(&mut params.file, || format!("hosts[{index}].plan.file"), files)?;
        }
    }
    for (index, flow) in scenario.flows.iter_mut().enumerate() {
        if let AppSpec::Recorded(params) = &mut flow.app {
            take(&mut params.file, || format!("flows[{index}].app.file"), files)?;
        }
    }
    Ok(())
}

/// Reads the rate and the delay of a link.
fn read_shape(
    (rate, delay): (&mut LinkRate, &mut LinkDelay),
    field: impl Fn() -> String,
    files: Files<'_>,
) -> Result<(), Trouble> {
    match rate {
        LinkRate::Constant(_) | LinkRate::Channel(_) => {}
        LinkRate::Recorded(rate) => {
            take_pair((&mut rate.trace, "trace"), &mut rate.reverse, || format!("{}.rate", field()), files)?;
        }
        LinkRate::Table(rate) => {
            take_pair((&mut rate.table, "table"), &mut rate.reverse, || format!("{}.rate", field()), files)?;
        }
    }
    let LinkDelay::Recorded(delay) = delay else { return Ok(()) };
    take_pair((&mut delay.trace, "trace"), &mut delay.reverse, || format!("{}.delay", field()), files)
}

fn read_losses(
    losses: [&mut Option<LossSpec>; 2],
    field: impl Fn() -> String,
    files: Files<'_>,
) -> Result<(), Trouble> {
    for (loss, name) in losses.into_iter().zip(["loss", "reverse_loss"]) {
        if let Some(file) = loss.as_mut().and_then(LossSpec::file) {
            take(file, || format!("{}.{name}.trace", field()), files)?;
        }
    }
    Ok(())
}

/// Takes a file in, of the field of that name, and that of the other direction.
fn take_pair<T: Recording>(
    (file, name): (&mut InputFile<T>, &str),
    reverse: &mut Option<InputFile<T>>,
    field: impl Fn() -> String,
    files: Files<'_>,
) -> Result<(), Trouble> {
    take(file, || format!("{}.{name}", field()), files)?;
    reverse.as_mut().map_or(Ok(()), |file| take(file, || format!("{}.reverse", field()), files))
}

fn take<T: Recording>(
    file: &mut InputFile<T>,
    field: impl Fn() -> String,
    files: Files<'_>,
) -> Result<(), Trouble> {
    let text = files(&file.path).map_err(|why| {
        let problem = Problem::at(field(), format!("the file \"{}\" cannot be read: {why}", file.path));
        let help = if why.starts_with("there is none") || why.starts_with("no files") {
            "write its path, relative to the scenario's file or to ROAMLAB_DATA"
        } else {
            "name another file"
        };
        Trouble::Field(problem.help(help))
    })?;
    file.take(&text).map_err(|refused| match refused {
        Refused::Line(bad) => {
            // The file may be any that the reader of the scenario can read: nothing of its content is shown.
            let problem = Box::new(Problem::from_text("", &bad.message));
            let (file, line) = (file.path.clone(), bad.line);
            Trouble::Line(Box::new(Located { file, line, column: 1, text: None, width: 0, problem }))
        }
        Refused::Digest(digest) => {
            let message = format!("\"{}\" has another content: its digest is {digest}", file.path);
            let help = "name the file that the scenario was written for, or leave `digest` out";
            Trouble::Field(Problem::at(field(), message).help(help))
        }
    })
}
