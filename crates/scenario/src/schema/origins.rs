//! The tables of the written scenario from which generated parts originate.

use crate::problem::Problem;

/// The tables behind what was generated.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Origins {
    /// Links that are written by themselves: the first ones.
    pub links: usize,
    /// The topologies in order: their first links, and their names.
    pub topologies: Vec<(usize, String)>,
    /// Of each table of hosts, if any is a group or has a plan: its first host, and whether it has a plan.
    pub hosts: Vec<(usize, bool)>,
    /// The same of flows, which have none.
    pub flows: Vec<(usize, bool)>,
}

impl Origins {
    /// The problem, at the field as it is written.
    #[must_use]
    pub fn trace(&self, problem: Problem) -> Problem {
        let field = self.field(&problem.field).unwrap_or(problem.field);
        Problem { field, ..problem }
    }

    /// The number of the topology that generates a cell of this name.
    #[must_use]
    pub fn topology_of(&self, cell: &str) -> Option<usize> {
        self.topologies.iter().position(|(_, name)| {
            let number = cell.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix("-bs-"));
            number.is_some_and(|it| !it.is_empty() && it.chars().all(|c| c.is_ascii_digit()))
        })
    }

    /// The written field behind this one, if it is another.
    fn field(&self, field: &str) -> Option<String> {
        if let Some((index, _)) = item(field, "links[") {
            let place = self.topologies.partition_point(|(first, _)| *first <= index);
            return (index >= self.links && place > 0).then(|| format!("topology[{}]", place - 1));
        }
        if let Some(rest) = field.strip_prefix("cells.") {
            let (cell, rest) = rest.split_once('.').unwrap_or((rest, ""));
            let number = self.topology_of(cell)?;
            let below = if rest.is_empty() { "" } else { "." };
            return Some(format!("topology[{number}].cells{below}{rest}"));
        }
        let written = |list: &str, firsts: &[(usize, bool)]| {
            let (index, rest) = item(field, list)?;
            let place = firsts.partition_point(|(first, _)| *first <= index).checked_sub(1)?;
            let rest = if firsts[place].1 && rest.starts_with(".visits") { ".plan" } else { rest };
            Some(format!("{list}{place}]{rest}"))
        };
        written("hosts[", &self.hosts).or_else(|| written("flows[", &self.flows))
    }
}

/// The number and the rest of a field in a list: 3 and ".path" of "flows[3].path".
fn item<'a>(field: &'a str, list: &str) -> Option<(usize, &'a str)> {
    let (index, rest) = field.strip_prefix(list)?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_leads_to_what_generates_it() {
        let topologies = vec![(2, "an".to_owned()), (5, "core".to_owned())];
        let origins = Origins {
            links: 2,
            topologies,
            hosts: vec![(0, false), (1, true)],
            flows: vec![(0, false), (10, false)],
        };
        for (field, written) in [
            ("links[1].between", None),
            ("links[2].between", Some("topology[0]")),
            ("links[7].queue.limit", Some("topology[1]")),
            ("cells.an-bs-3.queue.limit", Some("topology[0].cells.queue.limit")),
            ("cells.core-bs-3", Some("topology[1].cells")),
            ("cells.an-bs-x.router", None),
            ("hosts[0].visits[1].at", Some("hosts[0].visits[1].at")),
            ("hosts[9].visits[1].at", Some("hosts[1].plan")),
            ("hosts[9].home", Some("hosts[1].home")),
            ("flows[9].path[0]", Some("flows[0].path[0]")),
            ("flows[12].app.start", Some("flows[1].app.start")),
            ("run.duration", None),
        ] {
            assert_eq!(origins.field(field).as_deref(), written, "{field}");
        }
    }
}
