//! What the mobility protocols refuse.

use super::known;
use crate::agents::topology;
use crate::locate::Problem;
use crate::scenario::Scenario;
use roamlab_mobility::{Help, Refusal};

/// The first problem of a mobility protocol.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    for spec in scenario.protocols() {
        spec.check(&topology(scenario, spec)).map_err(|refusal| problem("mobility", refusal))?;
    }
    Ok(())
}

/// A protocol's refusal as a problem of the scenario; the protocol's own table is at `table`.
fn problem(table: &str, Refusal { field, elsewhere, message, help }: Refusal) -> Problem {
    let field = if elsewhere { field } else { format!("{table}.{field}") };
    match help {
        None => Problem::told(field, &message),
        Some(Help::Text(text)) => Problem::at(field, message).help(text),
        Some(Help::OneOf { wanted, names }) => {
            Problem::at(field, message).help(known(&wanted, names.iter().map(String::as_str)))
        }
    }
}
