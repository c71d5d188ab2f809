//! The properties of a scenario that every run and every manifest is asked for.

use crate::schema::{FlowSpec, Scenario};
use roamlab_engine::Duration;
use roamlab_mobility::is_pattern;
use roamlab_radio::{PlanSpec, SignalSpec, Trajectory};

/// Properties of a scenario of any size, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// How long a run lasts.
    pub duration: Duration,
    /// Flows, those of groups and those back included.
    pub flows: u64,
    /// A host visits more than one cell, or goes a way among several.
    pub moves: bool,
    /// It has topologies, groups or plans, which generate links, cells, hosts and flows.
    pub generates: bool,
    /// Its links lose or delay packets that it lists, or its messages have faults.
    pub forces: bool,
    /// Which of the tables `deliveries`, `tcp` and `packets` are recorded.
    pub recorded: Vec<&'static str>,
}

/// The outline of a scenario in JSON, as [`Scenario::to_json`] wrote it.
///
/// # Errors
/// What is wrong with the text, with its line and column: it is no JSON, or no scenario.
pub fn outline(json: &str) -> Result<Outline, String> {
    let scenario: Scenario = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let record = &scenario.record;
    let tables = [("deliveries", record.deliveries), ("tcp", record.tcp), ("packets", record.packets)];
    let written = &scenario.cells;
    let moves = |plan: &PlanSpec| {
        let itinerary = plan.itinerary();
        let alone = match itinerary.cells {
            [] => written.len() == 1 && scenario.topology.is_empty(),
            [only] => !is_pattern(only),
            _ => false,
        };
        let stays = matches!(plan, PlanSpec::Stay(_)) || itinerary.moves == Some(0);
        matches!(plan, PlanSpec::Scheduled(_)) || !(stays || alone)
    };
    let by_position = scenario.radio.measurement().is_some_and(|spec| spec.signal == SignalSpec::Positions);
    let goes = |way: &Trajectory| by_position && way.moves();
    Ok(Outline {
        duration: scenario.run.duration,
        flows: scenario.flows.iter().map(FlowSpec::number).sum(),
        moves: scenario.hosts.iter().any(|host| {
            host.stays().len() > 1
                || host.plan.as_ref().is_some_and(moves)
                || (written.len() > 1 && host.trajectory.as_ref().is_some_and(goes))
        }),
        generates: scenario.generates(),
        forces: !scenario.faults.is_empty()
            || scenario.links.iter().any(|link| !(link.drops.is_empty() && link.reverse_drops.is_empty())),
        recorded: tables.into_iter().filter_map(|(table, on)| on.then_some(table)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "[run]\nduration = \"40 s\"\n";
    const LINK: &str = "[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";

    fn of(text: &str) -> Outline {
        outline(&Scenario::parse(text, "test").expect("a scenario").to_json()).expect("its JSON")
    }

    #[test]
    fn a_group_counts_as_its_flows() {
        let flow = "transport = { kind = \"tcp\" }\napp = { kind = \"ftp\" }\npath = [\"a\", \"b\"]\n";
        let single = format!("{RUN}{LINK}[[flows]]\nname = \"one\"\n{flow}");
        let record = "[record]\ntcp = false\npackets = true\n";
        let found = of(&format!("{single}[[flows]]\nname = \"group\"\ncount = 7\n{flow}{record}"));
        assert_eq!(found.duration, Duration::from_millis(40_000));
        assert_eq!((found.flows, found.generates, found.moves), (8, true, false));
        assert_eq!(found.recorded, ["deliveries", "packets"]);
        assert!(!of(&single).generates);
    }

    #[test]
    fn an_application_with_requests_has_a_flow_back() {
        let flow = |app: &str| {
            of(&format!(
                "{RUN}{LINK}[[flows]]\nname = \"one\"\npath = [\"a\", \"b\"]\ntwo_way = true\n\
                 transport = {{ kind = \"tcp\" }}\napp = {{ {app} }}\n"
            ))
        };
        for (app, number) in [("kind = \"ftp\"", 2), ("kind = \"web\"", 4)] {
            assert_eq!((flow(app).flows, flow(app).generates), (number, true), "{app}");
        }
    }

    #[test]
    fn a_host_moves_if_it_visits_two_cells_or_has_a_plan_that_moves() {
        let moves = |rest: &str| {
            let host = format!("{{\"name\":\"mh\",\"home\":\"a\",{rest}}}");
            outline(&format!("{{\"run\":{{\"duration\":\"1 s\"}},\"hosts\":[{host}]}}")).expect("JSON").moves
        };
        let visit = "{\"cell\":\"bs\",\"at\":\"0 s\"}";
        assert!(moves(&format!("\"visits\":[{visit},{visit}]")));
        assert!(!moves(&format!("\"visits\":[{visit}]")));
        assert!(moves("\"plan\":{\"kind\":\"line\",\"dwell\":\"1 s\"}"));
        assert!(!moves("\"plan\":{\"kind\":\"stay\"}"));
    }

    #[test]
    fn losses_and_faults_that_are_listed_are_forced() {
        let forces = |rest: &str| {
            outline(&format!("{{\"run\":{{\"duration\":\"1 s\"}},{rest}}}")).expect("JSON").forces
        };
        let link = |field: &str| {
            format!(
                "\"links\":[{{\"between\":[\"a\",\"b\"],\"rate\":\"1 Mbit/s\",\"delay\":\"1 ms\"{field}}}]"
            )
        };
        assert!(!forces(&link("")));
        assert!(forces(&link(",\"drops\":[{\"packets\":[3]}]")));
        assert!(forces(&link(",\"reverse_drops\":[{\"packets\":[3]}]")));
        assert!(forces("\"faults\":[{\"message\":\"beacon\",\"occurrences\":[1]}]"));
    }

    #[test]
    fn what_is_no_scenario_is_refused_with_its_place() {
        assert_eq!(outline("{}"), Err("missing field `run` at line 1 column 2".to_owned()));
    }
}
