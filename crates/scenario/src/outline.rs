//! Properties of a scenario of any size, read from its text without building its network.

use roamlab_engine::Duration;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The little of a scenario that is asked of every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// How long a run lasts.
    pub duration: Duration,
    /// Flows, those of groups and those back included.
    pub flows: u64,
    /// A host visits more than one cell.
    pub moves: bool,
    /// It has topologies, groups or plans, which stand for links, cells, hosts and flows.
    pub generates: bool,
    /// Which of the tables `deliveries`, `tcp` and `packets` are recorded.
    pub recorded: Vec<&'static str>,
}

#[derive(Deserialize)]
struct Echo {
    run: Run,
    topology: Option<IgnoredAny>,
    #[serde(default)]
    hosts: Vec<Host>,
    #[serde(default)]
    flows: Vec<Flow>,
    #[serde(default)]
    record: Record,
}

#[derive(Deserialize)]
struct Run {
    duration: Duration,
}

#[derive(Deserialize)]
struct Host {
    count: Option<IgnoredAny>,
    #[serde(default)]
    visits: Vec<IgnoredAny>,
    plan: Option<Plan>,
}

#[derive(Deserialize)]
struct Plan {
    kind: String,
}

#[derive(Deserialize)]
struct Flow {
    count: Option<u64>,
    #[serde(default)]
    two_way: bool,
    #[serde(default)]
    app: App,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct App {
    kind: String,
}

impl Flow {
    fn asks(&self) -> bool {
        roamlab_traffic::ASKING.contains(&self.app.kind.as_str())
    }

    /// Flows that it stands for.
    fn number(&self) -> u64 {
        self.count.unwrap_or(1) * (1 + u64::from(self.two_way)) * (1 + u64::from(self.asks()))
    }
}

#[derive(Deserialize)]
#[serde(default)]
struct Record {
    deliveries: bool,
    tcp: bool,
    packets: bool,
}

impl Default for Record {
    fn default() -> Self {
        let crate::schema::RecordSpec { deliveries, tcp, packets, .. } = Default::default();
        Record { deliveries, tcp, packets }
    }
}

/// The outline of a scenario in JSON, as [`crate::Scenario::to_json`] or an earlier version wrote it.
///
/// # Errors
/// What is wrong with the text, with its line and column: it is no JSON, or no echo of a scenario.
pub fn outline(json: &str) -> Result<Outline, String> {
    let echo: Echo = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let plans = || echo.hosts.iter().filter_map(|host| host.plan.as_ref());
    let tables =
        [("deliveries", echo.record.deliveries), ("tcp", echo.record.tcp), ("packets", echo.record.packets)];
    Ok(Outline {
        duration: echo.run.duration,
        flows: echo.flows.iter().map(Flow::number).sum(),
        moves: echo.hosts.iter().any(|host| host.visits.len() > 1) || plans().any(|plan| plan.kind != "stay"),
        generates: echo.topology.is_some()
            || plans().next().is_some()
            || echo.hosts.iter().any(|host| host.count.is_some())
            || echo.flows.iter().any(|flow| flow.count.is_some() || flow.two_way || flow.asks()),
        recorded: tables.into_iter().filter_map(|(table, on)| on.then_some(table)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    const RUN: &str = "[run]\nduration = \"40 s\"\n";

    fn of(text: &str) -> Outline {
        outline(&Scenario::parse(text, "test").expect("a scenario").to_json()).expect("its echo")
    }

    #[test]
    fn a_group_counts_for_what_it_stands_for() {
        let flow = "transport = { kind = \"tcp\" }\napp = { kind = \"ftp\" }\npath = [\"a\", \"b\"]\n";
        let link = "[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n";
        let single = format!("{RUN}{link}[[flows]]\nname = \"one\"\n{flow}");
        let record = "[record]\ntcp = false\npackets = true\n";
        let found = of(&format!("{single}[[flows]]\nname = \"group\"\ncount = 7\n{flow}{record}"));
        assert_eq!(found.duration, Duration::from_millis(40_000));
        assert_eq!((found.flows, found.generates, found.moves), (8, true, false));
        assert_eq!(found.recorded, ["deliveries", "packets"]);
        assert!(!of(&single).generates);
    }

    #[test]
    fn what_asks_has_a_flow_back() {
        let of_app = |name: &str| outline_flow(&format!("\"app\":{{\"kind\":\"{name}\"}},\"two_way\":true"));
        for (name, _) in roamlab_traffic::App::ALL {
            let number = if roamlab_traffic::ASKING.contains(name) { 4 } else { 2 };
            assert_eq!((of_app(name).flows, of_app(name).generates), (number, true), "{name}");
        }
    }

    fn outline_flow(fields: &str) -> Outline {
        let json = format!("{{\"run\":{{\"duration\":\"1 s\"}},\"flows\":[{{{fields}}}]}}");
        outline(&json).expect("an echo")
    }

    #[test]
    fn a_host_moves_if_it_visits_two_cells_or_has_a_plan_that_moves() {
        let host = |rest: &str| format!("{{\"run\":{{\"duration\":\"1 s\"}},\"hosts\":[{{{rest}}}]}}");
        let moves = |rest: &str| outline(&host(rest)).expect("an echo").moves;
        assert!(moves("\"visits\":[1,2]"));
        assert!(!moves("\"visits\":[1]"));
        assert!(moves("\"plan\":{\"kind\":\"line\"}"));
        assert!(!moves("\"plan\":{\"kind\":\"stay\"}"));
    }

    #[test]
    fn what_is_no_echo_is_refused_with_its_place() {
        assert_eq!(outline("{}"), Err("missing field `run` at line 1 column 2".to_owned()));
    }
}
