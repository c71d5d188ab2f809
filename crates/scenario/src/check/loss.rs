//! Random loss and outages: probabilities and laws, and the links that may have them.

use crate::problem::{Problem, quoted_key};
use crate::schema::{LinkRate, Scenario};
use roamlab_engine::RandomNumbers;
use roamlab_radio::{LossSpec, MediumSpec, OutagePackets, OutageSpec};

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

/// Checks the outages of links and cells.
pub fn check_outages(scenario: &Scenario) -> Result<(), Problem> {
    for (index, link) in scenario.links.iter().enumerate() {
        check_outage(scenario, &format!("links[{index}]"), link.outages.as_deref(), &link.rate)?;
    }
    for (name, cell) in &scenario.cells {
        let field = format!("cells.{}", quoted_key(name));
        if cell.outages.is_some() && !matches!(cell.medium, MediumSpec::Dedicated(_)) {
            let problem = Problem::at(format!("{field}.outages"), "expected no outages on a shared medium");
            return Err(problem.help("write `medium = { kind = \"dedicated\" }`, or leave `outages` out"));
        }
        check_outage(scenario, &field, cell.outages.as_deref(), &cell.rate)?;
        let backhaul = &cell.backhaul;
        let field = format!("{field}.backhaul");
        check_outage(scenario, &field, backhaul.outages.as_deref(), &backhaul.rate.into())?;
    }
    Ok(())
}

fn check_outage(
    scenario: &Scenario,
    field: &str,
    outages: Option<&OutageSpec>,
    rate: &LinkRate,
) -> Result<(), Problem> {
    let Some(outages) = outages else { return Ok(()) };
    if let Err((part, message)) = outages.check() {
        return Err(Problem::from_text(format!("{field}.outages.{part}"), &message));
    }
    if scenario.run.random_numbers == RandomNumbers::Ns2 {
        let message = "expected no outages with the generator of ns-2: both directions draw from one stream of the link";
        let problem = Problem::at(format!("{field}.outages"), message);
        return Err(
            problem.help("write `random_numbers = \"chacha\"` in [run], or `changes` with `up = false`")
        );
    }
    if outages.packets == OutagePackets::Held && rate.is_recorded() {
        let message =
            "expected \"lost\": a recorded link sends at the times of its trace, which has its outages";
        let problem = Problem::at(format!("{field}.outages.packets"), message);
        return Err(problem.help("write \"lost\", or a constant rate"));
    }
    Ok(())
}
