//! The files that a scenario names, read before it is expanded.

use crate::problem::{Located, Problem, quoted_key};
use crate::schema::{LinkRate, Scenario};
use roamlab_engine::{InputFile, Recording, Refused};
use roamlab_radio::PlanSpec;
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
        read_rate(&mut link.rate, || format!("links[{index}].rate"), files)?;
    }
    for (name, cell) in &mut scenario.cells {
        read_rate(&mut cell.rate, || format!("cells.{}.rate", quoted_key(name)), files)?;
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

fn read_rate(rate: &mut LinkRate, field: impl Fn() -> String, files: Files<'_>) -> Result<(), Trouble> {
    let LinkRate::Recorded(rate) = rate else { return Ok(()) };
    take(&mut rate.trace, || format!("{}.trace", field()), files)?;
    rate.reverse.as_mut().map_or(Ok(()), |file| take(file, || format!("{}.reverse", field()), files))
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
