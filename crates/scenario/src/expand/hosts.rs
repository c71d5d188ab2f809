//! Groups of hosts, and their plans.

use crate::names::{Patterns, member};
use crate::problem::Problem;
use crate::schema::planned::PlannedVisits;
use crate::schema::{HostSpec, MOST_GENERATED, Scenario};
use crate::suggest::{known_pattern, known_value};
use roamlab_engine::{Duration, DurationLaw, Streams};
use roamlab_radio::plan::random_neighbour::{Neighbours, Params as RandomWalk};
use roamlab_radio::plan::schedule::Params as Scheduled;
use roamlab_radio::{Cells, PlanSpec, Visit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Scenario {
    /// The neighbours of a random walk in addition to those in its `pairs`, by the numbers of its cells,
    /// whose names these are.
    pub(crate) fn neighbours(&self, walk: &RandomWalk, names: &[String]) -> Vec<(usize, usize)> {
        match walk.neighbours {
            Neighbours::List => (1..names.len()).map(|cell| (cell - 1, cell)).collect(),
            Neighbours::Links => linked(self, names),
            Neighbours::Pairs => Vec::new(),
        }
    }

    /// The scenario with the visits of the hosts whose plans are random, each drawn from its own stream `HOST/plan`;
    /// `None`: no plan is random.
    pub fn draw_plans(&self, streams: &Streams) -> Option<Scenario> {
        if !self.hosts.iter().any(|host| host.planned.is_some()) {
            return None;
        }
        let mut drawn = self.clone();
        for host in &mut drawn.hosts {
            if let (Some(planned), Some(plan)) = (host.planned.take(), &host.plan) {
                let mut rng = streams.named(&format!("{}/plan", host.name));
                host.visits = Some(planned.visits(plan, self.run.duration, Some(&mut rng)));
            }
        }
        Some(drawn)
    }
}

/// Replaces groups of hosts by their hosts, and plans that are not random by visits; of each table its first host and
/// whether it has a plan.
pub fn expand(scenario: &mut Scenario) -> Result<Vec<(usize, bool)>, Problem> {
    let written = std::mem::take(&mut scenario.hosts);
    let all: u64 = written.iter().map(|host| u64::from(host.count.unwrap_or(1))).sum();
    if all > MOST_GENERATED {
        let problem = Problem::at("hosts", format!("{all} hosts are too many"));
        return Err(problem.help(format!("write at most {MOST_GENERATED}")));
    }
    let nodes = scenario.links.iter().flat_map(|link| &link.between).map(String::as_str);
    let mut patterns = Patterns::new(nodes, "node");
    let (mut hosts, mut firsts) = (Vec::with_capacity(all as usize), Vec::with_capacity(written.len()));
    let mut visits = 0u64;
    for (index, host) in written.into_iter().enumerate() {
        let field = |part: &str| format!("hosts[{index}].{part}");
        firsts.push((hosts.len(), host.plan.is_some()));
        let plan = match &host.plan {
            Some(PlanSpec::Scheduled(schedule)) => {
                let made = scheduled(scenario, schedule, &host, field)?;
                visits = visits.saturating_add(made.stays().len() as u64);
                hosts.push(made);
                continue;
            }
            Some(plan) => Some(Planned::new(scenario, plan, &host, field)?),
            None => None,
        };
        if let Some(plan) = &plan {
            let most = plan.spec.most_visits(scenario.run.duration);
            visits = visits.saturating_add(most.saturating_mul(u64::from(host.count.unwrap_or(1))));
            if visits > MOST_GENERATED {
                let problem = Problem::at(field("plan.dwell"), format!("{visits} visits are too many"));
                return Err(problem.help(format!(
                    "write a longer time, or `moves`: plans may have {MOST_GENERATED} visits together"
                )));
            }
        }
        let Some(count) = host.count else {
            let planned = plan.as_ref().map(|plan| plan.walk(0, Duration::ZERO));
            hosts.push(moving(host, planned, scenario.run.duration));
            continue;
        };
        patterns.find(&host.home, || field("home"))?;
        for number in 0..count {
            let late = host.stagger.unwrap_or_default().saturating_mul(u64::from(number));
            let one = HostSpec {
                name: member(&host.name, number),
                home: patterns.nth(&host.home, number),
                count: None,
                stagger: None,
                visits: host.visits.as_ref().map(|visits| later(visits, late)),
                ..host.clone()
            };
            let planned = plan.as_ref().map(|plan| plan.walk(number, late));
            hosts.push(moving(one, planned, scenario.run.duration));
        }
    }
    scenario.hosts = hosts;
    Ok(firsts)
}

/// The hosts whose visits a file lists.
fn scheduled(
    scenario: &Scenario,
    Scheduled { file, host: called }: &Scheduled,
    host: &HostSpec,
    field: impl Fn(&str) -> String,
) -> Result<HostSpec, Problem> {
    if host.visits.is_some() {
        let problem = Problem::at(field("plan"), "this host has `visits` already");
        return Err(problem.help("write one of the two"));
    }
    if host.count.is_some() {
        let problem = Problem::at(field("count"), "expected a single host with a schedule, got a group");
        return Err(problem.help("write a table for each host, or another kind of plan"));
    }
    let schedule = file.content().cloned().unwrap_or_default();
    let name = called.as_ref().unwrap_or(&host.name);
    let moves = schedule.moves(name);
    if moves.is_empty() {
        let message = format!("\"{}\" has no row of the host \"{name}\"", file.path);
        let place = if called.is_some() { "plan.host" } else { "plan.file" };
        return Err(Problem::at(field(place), message).help(known_value(name, schedule.hosts())));
    }
    for row in moves {
        for cell in [&row.from, &row.to].into_iter().flatten() {
            if !scenario.cells.contains_key(cell) {
                let message =
                    format!("there is no cell \"{cell}\", which is named in {}:{}", file.path, row.line);
                let help = known_value(cell, scenario.cells.keys().map(String::as_str));
                return Err(Problem::at(field("plan.file"), message).help(help));
            }
        }
    }
    let visits = schedule.visits(name, scenario.radio.constant_gap(), scenario.run.duration);
    Ok(HostSpec { visits: Some(visits), plan: None, ..host.clone() })
}

fn later(visits: &[Visit], late: Duration) -> Vec<Visit> {
    let shift = |visit: &Visit| Visit {
        cell: visit.cell.clone(),
        at: visit.at + late,
        until: visit.until.map(|until| until + late),
    };
    visits.iter().map(shift).collect()
}

/// The host with the visits of its plan, or with what a run draws them from.
fn moving(host: HostSpec, planned: Option<PlannedVisits>, end: Duration) -> HostSpec {
    match (&host.plan, planned) {
        (Some(plan), Some(planned)) if plan.is_random() => HostSpec { planned: Some(planned), ..host },
        (Some(plan), Some(planned)) => {
            HostSpec { visits: Some(planned.visits(plan, end, None)), plan: None, ..host }
        }
        _ => host,
    }
}

/// A plan with its cells.
struct Planned<'a> {
    spec: &'a PlanSpec,
    cells: Arc<Cells>,
    first: usize,
    shortest: Duration,
}

impl<'a> Planned<'a> {
    fn new(
        scenario: &Scenario,
        spec: &'a PlanSpec,
        host: &HostSpec,
        field: impl Fn(&str) -> String,
    ) -> Result<Planned<'a>, Problem> {
        if host.visits.is_some() {
            let problem = Problem::at(field("plan"), "this host has `visits` already");
            return Err(problem.help("write one of the two"));
        }
        let itinerary = spec.itinerary();
        itinerary.dwell.map_or(Ok(()), |dwell| check_dwell(dwell, scenario.radio.gap(), &field))?;
        let mut patterns = Patterns::new(scenario.cells.keys().map(String::as_str), "cell");
        let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
        let every = ["*".to_owned()];
        let wanted = if itinerary.cells.is_empty() { &every[..] } else { itinerary.cells };
        for (number, cell) in wanted.iter().enumerate() {
            let place = if itinerary.cells.is_empty() {
                field("plan")
            } else {
                field(&format!("plan.cells[{number}]"))
            };
            patterns.find(cell, || place.clone())?;
            for name in patterns.all(cell) {
                if !scenario.cells.contains_key(&name) {
                    let problem = Problem::at(place, format!("there is no cell \"{name}\""));
                    return Err(problem.help(known_pattern(&name, scenario.cells.keys().map(String::as_str))));
                }
                if !seen.insert(name.clone()) {
                    let problem = Problem::at(place, format!("\"{name}\" is in the list already"));
                    return Err(problem.help("name each cell once"));
                }
                names.push(name);
            }
        }
        let place = |name: &str, at: String| {
            names.iter().position(|cell| cell == name).ok_or_else(|| {
                Problem::at(at, format!("\"{name}\" is not among the cells of the plan"))
                    .help(known_value(name, names.iter().map(String::as_str)))
            })
        };
        let first = itinerary.begin.map_or(Ok(0), |begin| place(begin, field("plan.begin")))?;
        let neighbours = match spec {
            PlanSpec::RandomNeighbour(walk) => neighbours(scenario, walk, &names, place, &field)?,
            _ => Vec::new(),
        };
        let shortest = scenario.radio.constant_gap().unwrap_or_default() + Duration::from_nanos(1);
        Ok(Planned { spec, cells: Arc::new(Cells { names, neighbours }), first, shortest })
    }

    /// The movement of the host with this number in its group.
    fn walk(&self, number: u32, late: Duration) -> PlannedVisits {
        let first = (self.first + number as usize) % self.cells.names.len();
        PlannedVisits { cells: Arc::clone(&self.cells), first, late, shortest: self.shortest }
    }
}

/// Checks that stays of this law can be drawn, and are longer than the gap of the radio on average.
fn check_dwell(dwell: &DurationLaw, gap: Duration, field: &impl Fn(&str) -> String) -> Result<(), Problem> {
    if let Err((part, message)) = dwell.check_in("plan.dwell") {
        return Err(Problem::from_text(field(&part), &message));
    }
    if dwell.mean() <= gap {
        let mean = dwell.mean();
        let message = format!("the host would leave a cell after {mean}, and needs {gap} to enter it");
        return Err(Problem::at(field("plan.dwell"), message).help("write a time longer than `radio.gap`"));
    }
    Ok(())
}

/// The neighbours of each cell of a random walk.
fn neighbours(
    scenario: &Scenario,
    walk: &RandomWalk,
    names: &[String],
    place: impl Fn(&str, String) -> Result<usize, Problem>,
    field: impl Fn(&str) -> String,
) -> Result<Vec<Vec<usize>>, Problem> {
    let mut pairs = scenario.neighbours(walk, names);
    for (number, pair) in walk.pairs.iter().enumerate() {
        let at = || field(&format!("plan.pairs[{number}]"));
        let [one, other] = pair.as_slice() else {
            let problem = Problem::at(at(), format!("expected two cells, got {}", pair.len()));
            return Err(problem.help("write two cells, for example [\"bs1\", \"bs2\"]"));
        };
        if one == other {
            let problem = Problem::at(at(), format!("expected two cells, got \"{one}\" twice"));
            return Err(problem.help("write two cells, for example [\"bs1\", \"bs2\"]"));
        }
        pairs.push((place(one, at())?, place(other, at())?));
    }
    let mut around = vec![BTreeSet::new(); names.len()];
    for (one, other) in pairs.into_iter().filter(|(one, other)| one != other) {
        around[one].insert(other);
        around[other].insert(one);
    }
    if let Some(alone) = around.iter().position(BTreeSet::is_empty) {
        let message = format!("cell \"{}\" has no neighbour: a host could not leave it", names[alone]);
        return Err(
            Problem::at(field("plan"), message).help("add it to `pairs`, or write other `neighbours`")
        );
    }
    Ok(around.into_iter().map(|cells| cells.into_iter().collect()).collect())
}

/// Pairs of cells whose routers are the same or joined by a link.
fn linked(scenario: &Scenario, names: &[String]) -> Vec<(usize, usize)> {
    let mut at: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, name) in names.iter().enumerate() {
        at.entry(&scenario.cells[name].router).or_default().push(number);
    }
    let mut pairs = Vec::new();
    for cells in at.values() {
        pairs.extend(cells.iter().flat_map(|&one| cells.iter().map(move |&other| (one, other))));
    }
    for link in &scenario.links {
        let [left, right] = link.between.each_ref().map(|end| at.get(end.as_str()));
        let (Some(left), Some(right)) = (left, right) else { continue };
        pairs.extend(left.iter().flat_map(|&one| right.iter().map(move |&other| (one, other))));
    }
    pairs
}
