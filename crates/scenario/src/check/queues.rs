//! The queues of links, cells and bearers.

use crate::problem::{Problem, quoted_key};
use crate::schema::Scenario;
use roamlab_qdisc::{Parameters, QueueSpec};
use serde_json::Value;

/// All queues that a scenario describes, by their fields.
pub fn queues(scenario: &Scenario) -> Vec<(String, Option<&QueueSpec>)> {
    let network = &scenario.network;
    let mut queues = vec![
        ("network.queue".to_owned(), Some(&network.queue)),
        ("network.uplink_queue".to_owned(), Some(&network.uplink_queue)),
    ];
    for (index, link) in scenario.links.iter().enumerate() {
        queues.push((format!("links[{index}].queue"), link.queue.as_deref()));
        queues.push((format!("links[{index}].reverse_queue"), link.reverse_queue.as_deref()));
    }
    for (name, cell) in &scenario.cells {
        queues.push((format!("cells.{name}.queue"), Some(&cell.queue)));
        queues.push((format!("cells.{name}.backhaul.queue"), cell.backhaul.queue.as_ref()));
        queues.push((format!("cells.{name}.backhaul.reverse_queue"), cell.backhaul.reverse_queue.as_ref()));
        let Some(bearers) = &cell.bearers else { continue };
        queues.push((format!("cells.{name}.bearers.queue"), Some(&bearers.queue)));
        for (host, bearer) in &bearers.hosts {
            let host = quoted_key(host);
            queues.push((format!("cells.{name}.bearers.hosts.{host}.queue"), bearer.queue.as_ref()));
        }
    }
    queues
}

/// True if a queue marks packets with congestion.
pub fn marks(queue: &QueueSpec) -> bool {
    const NEVER: [&str; 6] = ["droptail", "head-drop", "mblue", "mred", "fq", "rlc"];
    let Ok(fields) = serde_json::to_value(queue) else { return true };
    match fields.get("mark_ecn").and_then(Value::as_bool) {
        Some(marks) => marks,
        None => {
            let marks_above = |name: &str| fields.get(name).is_some_and(|value| !value.is_null());
            !NEVER.contains(&queue.name()) || marks_above("ce_threshold") || marks_above("mark_above")
        }
    }
}

/// True if a queue does more than lose packets that find no room.
pub fn acts(queue: &QueueSpec) -> bool {
    !matches!(queue.name(), "droptail" | "head-drop" | "fq" | "rlc")
}

/// True if a discipline uses the code points of packets.
pub fn goes_by_code_points(queue: &Value) -> bool {
    match queue.get("spare_forwarded").map(|spares| *spares == true) {
        Some(spares) => spares,
        None => queue.get("mark").is_some() || queue.get("tins").is_some_and(|tins| tins != "besteffort"),
    }
}

/// The first problem of a queue.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    for (path, queue) in queues(scenario) {
        if let Some(Err((field, message))) = queue.map(|queue| queue.validate()) {
            return Err(Problem::from_text(format!("{path}.{field}"), &message));
        }
    }
    Ok(())
}
