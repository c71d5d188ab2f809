//! The rows of `causes` in plain English.

use crate::causes::{Causes, Row};
use crate::numbers::seconds;

/// Event of a row of this kind, or phase of a handover.
const STEPS: [(&str, &str); 34] = [
    ("start", "the run began"),
    ("motion", "{host} moved"),
    ("measurement", "{host} measured another cell as better"),
    ("out-of-range", "{host} did not receive from its cell"),
    ("on-air", "{host} heard its cell, or missed beacons or acknowledgements of it"),
    ("prediction", "a handover of {host} was predicted"),
    ("link-change", "the scenario changed the link {place}"),
    ("link-outage", "the link {place} had an outage"),
    ("delayed-message", "a fault delayed the message {name}"),
    ("underway", "segment {seq} of {flow} or its acknowledgement was in flight for long"),
    ("delayed-ack", "the receiver of {flow} delayed an acknowledgement"),
    ("congestion-mark", "a queue marked congestion for {flow}"),
    ("idle", "the sender of {flow} had been idle for an RTO"),
    ("false-alarm", "a new path was reported although the path was the same"),
    ("message", "{place} sent the message {name} for {host}"),
    ("heard", "{host} heard a broadcast of its cell"),
    ("timer", "a timer of {place} expired"),
    ("data", "a data packet arrived at {place}"),
    ("phase", "the handover of {host} reached {name}"),
    ("link-down", "{host} left {cell}"),
    ("link-up", "{host} entered {cell}"),
    ("path-change", "the sender of {flow} was notified of a new path"),
    ("buffering", "{place} began to hold the packets for {host}"),
    ("release", "{place} released the packets for {host}"),
    ("t-reordering", "the receiver of {host}'s bearer stopped waiting for a packet"),
    ("retransmission-limit", "{place} had sent a packet to {host} as often as it may"),
    ("loss", "{packet} was lost at {place}"),
    ("timeout", "the retransmission timer of {flow} expired"),
    ("fast-retransmit", "acknowledgements reported a loss of {flow}"),
    ("rack-mark", "RACK found segment {seq} of {flow} lost"),
    ("tail-loss-probe", "the sender of {flow} probed its tail"),
    ("tail-loss", "a probe of {flow} had repaired a loss"),
    ("persistent-congestion", "all that {flow} sent was lost for several probe timeouts"),
    ("safe-retreat", "{flow} left the window of its earlier connection"),
];

/// Why a packet was lost.
const REASONS: [(&str, &str); 23] = [
    ("queue-overflow", "the queue was full"),
    ("forwarded-overflow", "the queue had no room for forwarded packets"),
    ("early-drop", "the queue dropped it before it was full"),
    ("detached", "its host was not there"),
    ("link-down", "the link was down"),
    ("no-route", "there was no route"),
    ("no-binding", "there was no binding for its host"),
    ("ttl-expired", "its time to live was over"),
    ("buffer-overflow", "the buffer was full"),
    ("buffer-expired", "it had waited in the buffer for too long"),
    ("bearer-ended", "its bearer had ended"),
    ("duplicate", "it was there already"),
    ("discard-timer", "it had waited in its bearer for too long"),
    ("late", "its receiver no longer waited for it"),
    ("copy-released", "its copy was not needed"),
    ("suppressed-ack", "a base station hid this duplicate acknowledgement, and sent the segment again"),
    ("frame-loss", "the frame was lost on the air"),
    ("retry-limit", "its last retry on the air failed"),
    ("forced-loss", "the scenario drops it"),
    ("policed-mark", "it had more marks than its class may"),
    ("tunnel-congestion", "the tunnel's outer header was marked"),
    ("no-endpoint", "there was no endpoint for it"),
    ("random-loss", "the link lost it at random"),
];

fn listed(list: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    list.iter().find(|(each, _)| *each == name).map(|(_, words)| *words)
}

/// A template with its fields filled in; `None`: one has no value.
pub(crate) fn filled<'v>(
    template: &str,
    value: impl Fn(&str) -> Option<std::borrow::Cow<'v, str>>,
) -> Option<String> {
    let mut said = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}')?;
        said += before;
        said += &value(name)?;
        rest = behind;
    }
    Some(said + rest)
}

impl Causes<'_> {
    /// The rows of a chain up to a time; neighbours with the same sentence are one.
    pub fn told(&self, chain: &[usize], until_ns: i64) -> Vec<String> {
        let rows = chain.iter().map(|&id| self.row(id)).filter(|row| row.time_ns <= until_ns);
        let mut told: Vec<String> = rows.map(|row| format!("because {}", self.step(row))).collect();
        told.dedup();
        told
    }

    /// One row: what happened, when, and of a loss why.
    fn step(&self, row: Row<'_>) -> String {
        let phase = |phase: &&str| self.cells_of(row, phase).is_some();
        let kind = match row.kind {
            "phase" if listed(&STEPS, row.name).is_some() => row.name,
            "motion" => ["link-down", "link-up"].into_iter().find(phase).unwrap_or(row.kind),
            kind => kind,
        };
        let message =
            self.messages.get(&row.serial).map(|(message, _)| *message).filter(|name| !name.is_empty());
        let packet = match message {
            Some(message) => format!("the message {message}"),
            None if !row.flow.is_empty() => format!("a packet of {}", row.flow),
            None => "a packet".to_owned(),
        };
        let template = listed(&STEPS, kind).unwrap_or(kind);
        let template =
            if row.host.is_empty() { template.replace(" for {host}", "") } else { template.to_owned() };
        let value = |name: &str| {
            Some(match name {
                "host" => row.host.into(),
                "place" => row.place.into(),
                "name" => row.name.into(),
                "flow" => row.flow.into(),
                "seq" => row.seq.to_string().into(),
                "packet" => packet.as_str().into(),
                "cell" => self.cells_of(row, kind).unwrap_or("its cell").into(),
                _ => return None,
            })
        };
        let said = filled(&template, value).unwrap_or(template.clone());
        let why = if kind == "loss" { listed(&REASONS, row.name).unwrap_or(row.name) } else { "" };
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        format!("{said} at {} s{why}", seconds(row.time_ns))
    }

    /// The cell of a row's host at its time.
    fn cells_of(&self, row: Row<'_>, phase: &str) -> Option<&str> {
        self.cell(row.host, row.time_ns, phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_packet::DropReason;

    #[test]
    fn every_kind_of_cause_and_every_reason_has_its_words() {
        let table = roamlab_record::probe::tables().find(|table| table.name == "causes").unwrap();
        let kinds = table.columns.iter().find(|column| column.name == "kind").unwrap().words;
        assert!(!kinds.is_empty());
        for (kind, _) in kinds {
            assert!(listed(&STEPS, kind).is_some(), "{kind}");
        }
        for reason in DropReason::ALL {
            assert!(listed(&REASONS, reason.name()).is_some(), "{}", reason.name());
        }
    }
}
