//! Random draws: a sender, its settings, and a path with what happens to it.

use super::table::{AQMS, Law, Protocol, Queue, ROWS, Row, STALE, TROUBLES, Trouble};
use roamlab_engine::Rng;

/// When a flow begins, in seconds.
pub const START: f64 = 0.1;
/// Longest delay of an ACK that is drawn, in seconds.
const MAX_ACK_DELAY: f64 = 0.2;
/// CoDel's interval: it is to be of the order of the longest round trip (RFC 8289 §4.3).
const INTERVAL: f64 = 0.1;
/// Time of a handover after its gap: signalling over the wires of the access, timers of layer 2, a first
/// beacon.
const HANDOVER: f64 = 0.4;

/// Seconds of a path that a ProbeRTT takes from its flow at most. `rtt` and `ack_delay` in seconds, `product` in packets.
///
/// BBR keeps four segments in flight (draft-cardwell-iccrg-bbr-00 §4.3.5), BBRv3 half of the product, if that is more
/// (draft-ietf-ccwg-bbr-06 §5.3.4.3). It does so for 200 ms or a round trip. Before, the rest arrives, and behind it the
/// next ACK is waited for: a round trip each. Each round waits for the ACK of an odd segment.
pub fn probe_rtt(control: &str, product: f64, rtt: f64, ack_delay: f64) -> f64 {
    let held = match control {
        "bbr" => 4.0,
        "bbr3" => (product / 2.0).floor().max(4.0),
        _ => return 0.0,
    };
    let part = (held / product * rtt / (rtt + ack_delay)).min(1.0);
    (1.0 - part) * (2.0 * rtt + rtt.max(0.2) + 2.0 * ack_delay)
}

/// A drawn run.
#[derive(Clone, Debug)]
pub struct Draw {
    pub row: Row,
    pub recovery: &'static str,
    pub profile: &'static str,
    pub ecn: bool,
    /// Further fields of the transport, and of its congestion control.
    pub fields: Vec<String>,
    /// Rules of its profile.
    pub rules: Vec<String>,
    pub of_control: String,
    /// Bytes of a segment and of its header on the wire, and the longest delay of an ACK.
    pub segment: f64,
    pub header: f64,
    pub ack_delay: f64,
    /// Segments of the receive window.
    pub window: f64,
    pub queue: Queue,
    pub trouble: Trouble,
    /// Bits per second, and the round-trip time of the empty path in seconds.
    pub rate: f64,
    pub rtt: f64,
    /// Packets that may wait.
    pub limit: f64,
    /// Probability of a loss, or the share of packets that are overtaken, by how many seconds.
    pub loss: f64,
    pub late: f64,
    /// From when to when the path is dead.
    pub gaps: Vec<(f64, f64)>,
    pub duration: f64,
}

/// The profile of a row's connection, and its recovery.
fn profile_and_recovery(row: &Row, below: &mut impl FnMut(usize) -> usize) -> (&'static str, &'static str) {
    let tcp = row.transport == "tcp";
    let profile = match below(6) {
        0 | 1 if tcp && row.recoveries.contains(&"rack") => "linux-6",
        2 if row.ns2 => ["ns2-2001", "ns2-2003", "ns2-2009"][below(3)],
        _ => "rfc",
    };
    let recovery = match profile {
        "linux-6" => "rack",
        "rfc" if tcp => row.recoveries[below(row.recoveries.len())],
        "rfc" => "",
        _ if row.control == "vegas" => "vegas",
        _ if row.recoveries == ["tahoe"] => "tahoe",
        _ => ["reno", "newreno", "sack", "fack"][below(4)],
    };
    (profile, recovery)
}

/// Bytes of the headers of a data packet.
fn header(row: &Row, profile: &str, timestamps: bool) -> f64 {
    let is_bare = profile.starts_with("ns2") && (row.control == "vegas" || profile == "ns2-2001");
    match () {
        () if row.transport != "tcp" => 28.0,
        () if is_bare => 0.0,
        () if timestamps || profile == "linux-6" => 52.0,
        () => 40.0,
    }
}

/// The queue of the bottleneck: `aqm`, if one is drawn that suits the path.
fn queue(row: &Row, aqm: Option<Queue>, ecn: bool) -> Queue {
    match aqm {
        _ if row.by_marks => Queue::Step,
        Some(aqm) => aqm,
        None if ecn => Queue::Step,
        None => Queue::DropTail,
    }
}

/// The probability of a loss, or the share of packets that are overtaken and by how many seconds.
fn loss_and_delay(trouble: Trouble, rtt: f64, between: &mut impl FnMut(f64, f64) -> f64) -> (f64, f64) {
    match trouble {
        Trouble::Loss => (between(0.001, 0.05), 0.0),
        Trouble::AckLoss => (between(0.001, 0.1), 0.0),
        Trouble::Reordering => (between(0.001, 0.02), rtt * between(0.02, 1.0)),
        _ => (0.0, 0.0),
    }
}

impl Draw {
    /// The draw of this number.
    pub fn new(number: u64) -> Draw {
        let mut rng = Rng::named(3, number, "combinations");
        let mut below = |end: usize| (rng.uniform() * end as f64) as usize;
        let row = ROWS[below(ROWS.len())];
        let tcp = row.transport == "tcp";
        let (profile, recovery) = profile_and_recovery(&row, &mut below);
        let trouble = TROUBLES[below(TROUBLES.len())];
        let wants_aqm = below(4) == 0 && matches!(trouble, Trouble::Nothing | Trouble::Gaps);
        let aqm = AQMS[below(AQMS.len())];
        let mut ecn = tcp && (row.by_marks || below(4) == 0);
        let choices: [usize; 16] = std::array::from_fn(|_| below(1 << 16));
        let mut between = |least: f64, most: f64| least * libm::pow(most / least, rng.uniform());

        // A long transfer of many segments at a high rate is expensive, and shows no more.
        let rtt = between(0.004, 0.6);
        let segment = if tcp { [1448.0, 1448.0, 536.0, 1000.0][choices[0] % 4] } else { 1200.0 };
        let timestamps = profile == "rfc" && tcp && choices[1].is_multiple_of(4);
        let header = header(&row, profile, timestamps);
        let wire = segment + header;
        let most = if row.control == "vegas" { 30.0 } else { 160.0 };
        let rate = (between(1.2, most) * wire * 8.0 / rtt).clamp(6e4, 6e7).round();
        let product = rate * rtt / 8.0 / wire;
        // An AQM measures the time of packets in the queue: on a path of few or slow ones that is the time of one packet.
        let fits = product >= 10.0 && rtt <= INTERVAL && wire * 8.0 / rate < 0.002;
        let queue = queue(&row, (wants_aqm && fits && tcp).then_some(aqm), ecn);
        ecn &= profile != "ns2-2001" || row.control != "vegas";
        let limit = (product * between(1.0, 3.0)).ceil().max(10.0);
        let (loss, late) = loss_and_delay(trouble, rtt, &mut between);
        let mut draw = Draw {
            row,
            recovery,
            profile,
            ecn,
            fields: Vec::new(),
            rules: Vec::new(),
            of_control: String::new(),
            segment,
            header,
            ack_delay: if profile.starts_with("ns2") { 0.0 } else { 0.1 },
            window: 4000.0,
            queue,
            trouble,
            rate,
            rtt,
            limit,
            loss,
            late,
            gaps: Vec::new(),
            duration: 0.0,
        };
        draw.fields.extend(timestamps.then(|| "timestamps = true".into()));
        if tcp {
            draw.choose(&choices);
        }
        if row.control == "vegas" && matches!(trouble, Trouble::Move(_)) {
            draw.row.law = Law::TwoSegments(STALE);
        }
        draw.plan(&mut between);
        draw
    }

    /// Settings of a TCP connection.
    fn choose(&mut self, choices: &[usize; 16]) {
        let rfc = self.profile == "rfc";
        let one_of = |choice: usize, of: usize| choices[choice].is_multiple_of(of);
        let (mut fields, mut rules) = (Vec::new(), Vec::new());
        let mut set = |when: bool, field: &str| fields.extend(when.then(|| field.to_owned()));
        let mut rule = |when: bool, field: &str| rules.extend(when.then(|| field.to_owned()));
        set(one_of(2, 4) && !self.profile.starts_with("ns2"), "pacing = true");
        let paced_anyway = ["bbr", "bbr3", "prague"].contains(&self.row.control);
        if rfc {
            let by_sack = ["rfc6675", "rack"].contains(&self.recovery);
            rule(by_sack && one_of(3, 4), "reduction = \"prr\"");
            set(one_of(4, 4), "limited_transmit = false");
            set(one_of(5, 4), "initial_window = \"2 pkt\"");
            rule(self.recovery == "newreno" && one_of(6, 2), "impatient = false");
            let ramps = self.recovery == "fack" && !paced_anyway && one_of(6, 2);
            rule(ramps, "fack_rampdown = true");
            rule(self.recovery == "rack" && one_of(6, 4), "tail_loss_probe = false");
            let detections: &[&str] = match (self.recovery, self.header > 40.0) {
                ("rack", _) => &["linux", "none"],
                ("rfc6675" | "fack", true) => &["f-rto", "none", "d-sack", "eifel"],
                ("rfc6675" | "fack", false) => &["f-rto", "none", "d-sack"],
                (_, true) => &["f-rto", "none", "eifel"],
                (_, false) => &["f-rto", "none"],
            };
            let detection = detections[choices[7] % detections.len()];
            set(one_of(8, 2), &format!("spurious_detection = \"{detection}\""));
            let abe = self.ecn && ["reno", "cubic"].contains(&self.row.control) && one_of(9, 2);
            set(abe, "abe = true");
            set(self.ecn && one_of(10, 4), "accecn = true");
            self.ack_delay = [0.1, 0.1, 0.0, MAX_ACK_DELAY][choices[11] % 4];
            set(true, &format!("delayed_ack = \"{} ms\"", self.ack_delay * 1e3));
            let starts = ["hystart++", "standard", "hystart"];
            if self.row.control == "cubic" && one_of(12, 2) {
                self.of_control = format!(", slow_start = \"{}\"", starts[choices[13] % 3]);
            }
        }
        self.fields.extend(fields);
        self.rules.extend(rules);
        // The receive window is at least what a path and its ACKs hold; a window of 64 KiB needs no scaling.
        if one_of(14, 4) && !paced_anyway {
            let held = self.product() + self.rate * self.ack_delay / 8.0 / self.wire();
            self.window = (1.2 * held + 4.0).ceil();
            let unscaled = (65_535.0 / self.segment).floor();
            if self.window <= unscaled && self.profile == "rfc" {
                self.window = unscaled;
                self.rules.push("window_scaling = false".into());
            }
        }
    }

    /// When what happens to the path happens, and how long the run is.
    fn plan(&mut self, between: &mut impl FnMut(f64, f64) -> f64) {
        let behind = self.takes();
        let settled = (20.0 * self.longest_rtt()).max(1.0);
        let started = START + self.starts();
        let first = started + settled.min(4.0) * between(0.1, 1.0);
        self.duration = match self.trouble {
            Trouble::Gaps => {
                let until = first + between(0.02, 0.9);
                let from = until + behind + self.takes();
                self.gaps = vec![(first, until), (from, from + between(0.02, 0.9))];
                self.gaps[1].1 + 1.5 + behind + self.takes() + self.grows() + settled
            }
            Trouble::Move(protocol) => {
                let gap = match protocol {
                    // T310, a search, system information, random access, and the context from the old base station.
                    Protocol::NrFailing => 0.5,
                    _ if protocol.commands() => 0.05,
                    _ => between(0.02, 0.9),
                };
                self.gaps = vec![(first, first + gap + HANDOVER + self.longest_rtt())];
                self.gaps[0].1 + 1.5 + behind + self.takes() + self.grows() + settled
            }
            Trouble::Nothing => started + settled,
            _ => started + settled.max(10.0),
        };
    }

    /// How long the host of a move is out of reach.
    pub fn gap(&self) -> f64 {
        self.gaps[0].1 - self.gaps[0].0 - HANDOVER - self.longest_rtt()
    }

    /// Bytes of a full segment on the wire.
    pub fn wire(&self) -> f64 {
        self.segment + self.header
    }

    /// Packets of the bandwidth-delay product.
    pub fn product(&self) -> f64 {
        self.rate * self.rtt / 8.0 / self.wire()
    }

    /// True if no second segment comes before the delay of an ACK ends.
    pub fn delays_each_ack(&self) -> bool {
        self.ack_delay > 0.0 && self.wire() * 8.0 / self.rate > self.ack_delay
    }

    /// True if the timer expires in a recovery of NewReno, which repairs a loss in a round trip: the
    /// impatient variant restarts it for the first one only (RFC 6582 §4). CUBIC grows by some segments in
    /// the round trip in which the queue overflows.
    pub fn is_impatient(&self) -> bool {
        let is_patient = self.rules.iter().any(|rule| rule == "impatient = false");
        self.recovery == "newreno"
            && self.row.control == "cubic"
            && !is_patient
            && 4.0 * self.longest_rtt() > 1.0
    }

    /// Round trips in which slow start reaches a product: by a factor 1.5 where an ACK waits for a second
    /// segment.
    pub fn doublings(&self) -> f64 {
        libm::log2(self.product().max(2.0)) / if self.ack_delay > 0.0 { libm::log2(1.5) } else { 1.0 }
    }

    /// The longest round-trip time: that with a full queue.
    pub fn longest_rtt(&self) -> f64 {
        self.rtt + (self.limit + 2.0) * self.wire() * 8.0 / self.rate
    }

    /// How long a sender may take behind its start or a timeout, in seconds.
    pub fn takes(&self) -> f64 {
        let (rtt, product) = (self.longest_rtt(), self.product().max(2.0));
        let mut rounds = 2.0 * libm::log2(product) + 4.0;
        if let Law::Linear(_) | Law::TwoSegments(_) = self.row.law {
            rounds += product;
        }
        let mut least = 2.0;
        if self.ecn && self.profile == "rfc" && !self.row.by_marks {
            // RFC 3168 §6.1.2, §6.1.5: an echo continues until a new segment carries CWR, no repair does, and
            // the window does not grow on an echo. So a segment of the flight is repaired in a round trip,
            // and its ACK is delayed.
            least += (2.0 * self.product() + self.limit) * (self.rtt + self.ack_delay);
        }
        if self.rules.iter().any(|rule| rule == "impatient = false") {
            // RFC 6582 §4: the slow-but-steady variant repairs one loss in a round trip. Slow start loses half of the window at most,
            // which was twice what fits.
            rounds += self.product() + self.limit;
        }
        (rounds * rtt).max(least)
    }

    /// How long a sender may take behind its start, in seconds.
    ///
    /// One that uses marks has an average of 1 at first (RFC 8257 §3.3), so each marked window is halved.
    /// Slow start has four products in flight when the first echo is back. Half of them is where the queue
    /// still marks, and half of that a product. An ACK of two segments may be one of the old window, with its
    /// mark, and one of the new: a third half is left to grow.
    pub fn starts(&self) -> f64 {
        self.takes() + if self.row.by_marks { self.grows() } else { 0.0 }
    }

    /// How long a sender may grow behind a gap until it has the whole path again, in seconds.
    ///
    /// Reno's window grows by a segment in a round trip (RFC 5681 §3.1). A gap costs one cut, to half of what was in flight, a product
    /// at least (eq. 4; a timer that expires again leaves ssthresh): half a product is left to grow. Reno's
    /// own recovery cuts the window for each of several losses (Fall & Floyd 1996 §3). In ns-2 each timeout
    /// of a series halves ssthresh, down to two segments: a whole product is left at most. CUBIC's takes its
    /// K (RFC 9438 §4.2).
    pub fn grows(&self) -> f64 {
        let (product, rtt) = (self.product(), self.longest_rtt());
        // An ACK of two segments adds as much as one of one (RFC 5681 §3.1, equation 3).
        let product = if self.ack_delay > 0.0 && self.profile == "rfc" { 2.0 * product } else { product };
        let rounds = match (self.row.control, self.recovery) {
            _ if self.profile.starts_with("ns2") => product,
            (_, "reno") => product,
            ("reno" | "dctcp" | "prague", _) => product / 2.0,
            ("cubic", _) => return self.plateau(),
            _ => 0.0,
        };
        rounds * rtt
    }

    /// How long ns-2's Tahoe grows from two segments to the whole path, in seconds; 0 for other senders.
    ///
    /// Its first repair waits behind a full queue, for longer than the RTO, which has no minimum of a second there. The
    /// timer finds a window of one segment and sets ssthresh to two (RFC 5681, equation 4).
    pub fn grows_from_two(&self) -> f64 {
        let is_tahoe = self.profile.starts_with("ns2") && self.recovery == "tahoe";
        if is_tahoe { self.product() * self.longest_rtt() } else { 0.0 }
    }

    /// CUBIC's K: how long it grows up to the window of the last loss, here two products, in seconds (RFC 9438 §4.2).
    pub fn plateau(&self) -> f64 {
        libm::cbrt(2.0 * self.product() * (1.0 - self.row.beta) / 0.4)
    }

    /// The mean part of the path while it grows: from half of the product to all of it, or from nothing.
    pub fn while_growing(&self) -> f64 {
        if self.recovery == "reno" || self.profile.starts_with("ns2") { 0.5 } else { 0.75 }
    }

    /// How often in the run all ACKs of a window are lost, which is what a timeout takes: each later ACK acknowledges what an
    /// earlier one did. The window is a product at least, as a cut leaves half of the product and a queue of one.
    pub fn silent_windows(&self) -> f64 {
        let acks = if self.ack_delay > 0.0 { self.product() / 2.0 } else { self.product() };
        self.duration / self.rtt * libm::pow(self.loss, acks.floor())
    }

    /// The part of the path that the sender has to take once it is there.
    pub fn least(&self) -> f64 {
        match self.queue {
            // They drop or mark at a queue of 5 to 15 ms: the window goes between beta times the product and the product.
            Queue::Codel | Queue::FqCodel | Queue::Pie | Queue::DualPi2 => 0.85 * (1.0 + self.row.beta) / 2.0,
            Queue::DropTail | Queue::Step | Queue::Red => 0.85,
        }
    }
}
