//! A flow in sentences.

use crate::why::cause::{counted, rate, scaled};
use crate::why::course::{Limits, Spike};
use crate::why::explain::Told;

/// Limits with a smaller share of the time are not named.
const LEAST_SHARE: f64 = 0.01;

impl Told {
    /// Puts the stalls in order, and the flow into sentences.
    pub(crate) fn finish(&mut self) {
        self.stalls.sort_by(|one, other| other.length_s.total_cmp(&one.length_s));
        self.sentences = self.described();
        for spike in &mut self.spikes {
            spike.sentence = spike.words();
        }
        for slow in &mut self.slow {
            for stall in &mut self.stalls {
                if slow.start_s < stall.end_s && stall.start_s < slow.end_s {
                    slow.has_stall = true;
                    stall.sentences.push(format!("it is part of a slow period: {}", slow.rates()));
                }
            }
        }
    }

    /// The flow, and what is known of all of it, without its spikes.
    fn described(&self) -> Vec<String> {
        let amount = scaled(self.bytes as f64, "B", &[(1e6, "MB"), (1e3, "kB")]);
        let (seconds, place) = (self.length_s, self.captured());
        let mut said = vec![format!(
            "flow {}: {amount} in {seconds:.3} s, {}; {place}",
            self.flow,
            rate(self.goodput_bps)
        )];
        if let Some(trips) = &self.trips {
            said.push(format!(
                "round trip {:.3} s at least, {:.3} s in the median, {:.3} s at most",
                trips.base_s, trips.median_s, trips.largest_s
            ));
        }
        said.push(self.again());
        said.extend(self.limits.as_ref().and_then(limited));
        if let Some(policed) = self.policed_bps {
            said.push(format!("its losses fit a policer of {}", rate(policed)));
        }
        if let Some(aligned) = &self.aligned {
            said.push(format!(
                "the receiver's clock is {:.4} s ahead (± {:.4} s) and drifts by {:.1} ppm",
                aligned.offset_s, aligned.interval_s, aligned.drift_ppm
            ));
            let (lost, sent) = aligned.lost;
            said.push(format!(
                "{lost} of {sent} packets with data and {} acknowledgements did not arrive",
                aligned.acks_lost
            ));
        }
        said.extend(self.notes.iter().map(|note| format!("note: {note}")));
        said
    }

    /// Where it was captured.
    fn captured(&self) -> String {
        let said = match self.place {
            "qlog of the sender" => "a qlog of its sender",
            "qlog of the receiver" => "a qlog of its receiver",
            "sender" => "captured at its sender",
            "receiver" => "captured at its receiver",
            "both ends" => "captured at both ends",
            _ => "captured between its ends",
        };
        match self.share.filter(|_| self.place != "both ends") {
            Some(share) => {
                let percent = 100.0 * share;
                format!("{said} ({percent:.0}% of the round trip is between the capture and the receiver)")
            }
            None => said.into(),
        }
    }

    /// How often data were sent again.
    fn again(&self) -> String {
        let again = &self.resends;
        let packets = counted(again.packets, "packet");
        if self.place.starts_with("qlog") {
            let probes = counted(again.probes, "probe timeout");
            return format!("{packets} declared lost: {} needlessly; {probes}", again.needless);
        }
        if self.place == "receiver" {
            return format!(
                "{packets} came late or again, {} of them were there already; {} overtaken",
                again.needless, self.reordered
            );
        }
        let recoveries = match again.recoveries {
            1 => "1 recovery".into(),
            more => format!("{more} recoveries"),
        };
        let timeouts = counted(self.timeouts.len(), "timeout");
        let mut parts = vec![
            format!("{} needlessly", again.needless),
            recoveries,
            timeouts,
            counted(again.probes, "tail probe"),
        ];
        if again.lost_again > 0 {
            parts.push(format!("{} more than once", again.lost_again));
        }
        format!("{packets} sent again: {}; {} overtaken", parts.join(", "), self.reordered)
    }
}

impl Spike {
    /// It in a sentence.
    fn words(&self) -> String {
        let (before, after) = (self.before_ns as f64 / 1e9, self.rtt_ns as f64 / 1e9);
        format!("the round trip rose from {before:.3} s to {after:.3} s at {:.3} s", self.time_s)
    }
}

fn limited(limits: &Limits) -> Option<String> {
    let mut shares = [
        ("receiver", limits.receiver),
        ("application", limits.application),
        ("path", limits.path),
        ("recovery", limits.recovery),
        ("sender", limits.sender),
    ];
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let named = shares.iter().filter(|(_, share)| *share >= LEAST_SHARE);
    let named: Vec<String> = named.map(|(name, share)| format!("{name} {:.0}%", 100.0 * share)).collect();
    (!named.is_empty()).then(|| format!("limited by: {} of the time", named.join(", ")))
}
