//! The networks that the Tcl files build, as our scenarios.

use super::golden::{Clock, Params, Red, Run};
use serde_json::{Value, json};

/// A scenario's text, and the queue that is recorded.
pub struct Twin {
    pub text: String,
    pub bottleneck: &'static str,
}

/// The network that the Tcl file of the run's group builds.
pub fn twin(run: &Run) -> Twin {
    let params = &run.params;
    let (bottleneck, mut links, ends) = match run.group.as_str() {
        "c" => {
            let links = vec![link("n0", "n1", 10, 2), link("n1", "n2", 10, 40), link("n2", "n3", 2, 2)];
            ("n2->n3", links, None)
        }
        "d" | "z" => ("n0->n1", vec![link("n0", "n1", 2, 40)], Some(("n0", "n1", 10))),
        "e" => ("n0->n1", vec![link("n0", "n1", 12, 2), link("n1", "n2", 12, 2)], Some(("n0", "n2", 100))),
        _ => {
            let links = vec![link("n0", "n1", 10, 2), link("n1", "n2", 2, 40), link("n2", "n3", 10, 2)];
            ("n1->n2", links, None)
        }
    };
    let tight = links
        .iter_mut()
        .find(|link| bottleneck == format!("{}->{}", text(&link["between"][0]), text(&link["between"][1])));
    let tight = tight.expect("a link of the chain");
    tight["queue"] = queue(params);
    if !params.drops.is_empty() {
        tight["drops"] = json!([{ "packets": params.drops }]);
    }
    if let Some(gap) = params.gap.filter(|gap| gap.as_nanos() > 0) {
        let end = 10_000_000_000 + gap.as_nanos();
        tight["changes"] = json!([{ "at": "10 s", "up": false }, { "at": format!("{end} ns"), "up": true }]);
    }
    let flows = flows(run, ends, &mut links);
    if run.group == "z" {
        for link in &mut links {
            (link["rate"], link["delay"]) = (json!("2 Mbit/s"), json!("0 s"));
        }
    }
    if run.clock == Clock::Grid {
        // 640 ns a byte; at 12 Mbit/s it would be 666 and two thirds.
        links
            .iter_mut()
            .filter(|link| link["rate"] == "12 Mbit/s")
            .for_each(|link| link["rate"] = json!("12500 kbit/s"));
    }
    let scenario = json!({
        "run": { "duration": format!("{} ns", params.stop.as_nanos()), "profile": "own", "random_numbers": "ns2" },
        "tcp_profiles": { "own": run.profile() },
        "network": { "queue": { "kind": "droptail", "limit": "10000 pkt" } },
        "links": links,
        "flows": flows,
        "record": { "packets": true, "variables": true, "deliveries": false, "queues": [bottleneck] },
    });
    Twin { text: toml::to_string(&scenario).expect("a TOML document"), bottleneck }
}

/// The flows of a run. Between two `ends` each has links of its rate to its own nodes.
fn flows(run: &Run, ends: Option<(&str, &str, u64)>, links: &mut Vec<Value>) -> Vec<Value> {
    let mut flows = Vec::new();
    for number in 0..run.params.flows {
        let path = match ends {
            None => ["n0".to_owned(), "n3".to_owned()],
            Some((left, right, rate)) => {
                let delay = if run.group == "d" { 1 + number % 9 } else { 2 };
                let path = [format!("s{number}"), format!("d{number}")];
                links.push(link(&path[0], left, rate, delay));
                links.push(link(right, &path[1], rate, 2));
                path
            }
        };
        let mut transport = serde_json::to_value(run.spec()).expect("parameters");
        transport["kind"] = json!("tcp");
        let start = format!("{} ms", 100 * (number + 1));
        flows.push(json!({
            "name": number.to_string(), "path": path, "transport": transport, "app": { "kind": "ftp", "start": start },
        }));
    }
    flows
}
fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn link(from: &str, to: &str, mbps: u64, millis: u64) -> Value {
    json!({ "between": [from, to], "rate": format!("{mbps} Mbit/s"), "delay": format!("{millis} ms") })
}

fn queue(params: &Params) -> Value {
    let limit = format!("{} pkt", params.queue);
    let Some(Red { min, max, linterm, weight, gentle, mean_packet, mark, use_mark_p }) = &params.red else {
        return json!({ "kind": "droptail", "limit": limit, "count_in_service": true });
    };
    json!({
        "kind": "red",
        "rules": "ns2",
        "limit": limit,
        "min_threshold": format!("{min} pkt"),
        "max_threshold": format!("{max} pkt"),
        "max_p": 1.0 / linterm,
        "queue_weight": weight,
        "gentle": gentle,
        "mean_packet": format!("{mean_packet} B"),
        "mark_ecn": mark,
        "use_mark_p": use_mark_p,
        "threshold_unit": "packets",
        "probability_unit": "packets",
    })
}
