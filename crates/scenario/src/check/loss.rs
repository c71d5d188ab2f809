//! Random loss: probabilities, and the links that may have it.

use crate::problem::{Problem, quoted_key};
use crate::schema::Scenario;
use roamlab_radio::{LossSpec, MediumSpec};

/// Checks the random losses of links, cells and backhauls.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    let mut losses = Vec::new();
    for (index, link) in scenario.links.iter().enumerate() {
        losses.push((format!("links[{index}]"), [&link.loss, &link.reverse_loss]));
    }
    for (name, cell) in &scenario.cells {
        let field = format!("cells.{}", quoted_key(name));
        let written =
            cell.loss.as_ref().map(|_| "loss").or(cell.reverse_loss.as_ref().map(|_| "reverse_loss"));
        if let (Some(part), true) = (written, !matches!(cell.medium, MediumSpec::Dedicated(_))) {
            let message = "this medium decides itself which frames are lost";
            return Err(
                Problem::at(format!("{field}.{part}"), message).help("write `medium.frame_loss` instead")
            );
        }
        let backhaul = &cell.backhaul;
        losses.push((format!("{field}.backhaul"), [&backhaul.loss, &backhaul.reverse_loss]));
        losses.push((field, [&cell.loss, &cell.reverse_loss]));
    }
    for (field, pair) in losses {
        for (name, loss) in ["loss", "reverse_loss"].into_iter().zip(pair) {
            if let Some(Err((part, message))) = loss.as_ref().map(LossSpec::check) {
                let dot = if part.is_empty() { "" } else { "." };
                return Err(Problem::from_text(format!("{field}.{name}{dot}{part}"), &message));
            }
        }
    }
    Ok(())
}
