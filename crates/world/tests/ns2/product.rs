//! Results of our runs, in the form of the recordings.

use super::golden::Run;
use super::scenario::{Twin, twin};
use super::ties::Traffic;
use roamlab_world::{Column, Replication, RunOptions, Scenario, Table, run};
use std::collections::{BTreeMap, HashMap};

/// One line of the record.
#[derive(Clone, Debug)]
pub struct Row {
    /// Nanoseconds.
    pub at: u64,
    pub event: char,
    /// No flow: the queue as a whole.
    pub flow: Option<usize>,
    pub first: String,
    pub second: String,
}

/// Results of a run.
pub struct Outcome {
    /// In the order of each kind's record.
    pub rows: Vec<Row>,
    pub flows: Vec<FlowOutcome>,
    /// Packets that arrived at the recorded queue and left it.
    pub traffic: Traffic,
}

/// Results of a flow.
#[derive(Default)]
pub struct FlowOutcome {
    /// The sender's variables after every input that changed them, the first at time zero.
    pub variables: Vec<Variables>,
    /// Facts about cuts of the window, in order: nanoseconds and what it was.
    pub cuts: Vec<(u64, String)>,
    pub retransmitted: u64,
    /// Bytes on the wire of each segment that was sent.
    pub sizes: Vec<u64>,
    /// Segments that had arrived in order when the receiver sent its last ACK.
    pub in_order: usize,
}

impl FlowOutcome {
    pub fn sent(&self) -> u64 {
        self.sizes.len() as u64 + self.retransmitted
    }

    /// Wire bytes delivered in order.
    pub fn sink_bytes(&self) -> u64 {
        self.sizes[..self.in_order].iter().sum()
    }
}

/// A row of the table `variables`.
#[derive(Clone, Copy)]
pub struct Variables {
    pub at: u64,
    pub cwnd: f64,
    pub ssthresh: f64,
    pub rtt: u64,
    pub srtt: u64,
    pub rttvar: u64,
    pub rto: u64,
    pub backoff: u64,
    pub timeouts: u64,
    pub reductions: u64,
    pub una: u64,
}

/// Columns of a table by name.
struct Columns<'a>(&'a Table);

impl Columns<'_> {
    fn column(&self, name: &str) -> &Column {
        let found = self.0.columns.iter().find(|(other, _)| *other == name);
        &found.unwrap_or_else(|| panic!("{}: no column {name}", self.0.name)).1
    }

    fn len(&self) -> usize {
        match self.column("time_ns") {
            Column::U64(values) => values.len(),
            other => panic!("times are {other:?}"),
        }
    }

    fn whole(&self, name: &str, row: usize) -> u64 {
        match self.column(name) {
            Column::U64(values) => values[row],
            Column::U32(values) => u64::from(values[row]),
            Column::Bool(values) => u64::from(values[row]),
            other => panic!("{name} is {other:?}"),
        }
    }

    fn real(&self, name: &str, row: usize) -> f64 {
        match self.column(name) {
            Column::F64(values) => values[row],
            other => panic!("{name} is {other:?}"),
        }
    }

    fn word(&self, name: &str, row: usize) -> &str {
        match self.column(name) {
            Column::Words(codes, words) => &words[codes[row] as usize],
            other => panic!("{name} is {other:?}"),
        }
    }

    fn flow(&self, row: usize) -> usize {
        self.word("flow", row).parse().expect("flows have numbers for names")
    }
}

/// Runs a recorded run's twin.
pub fn repeat(recorded: &Run) -> Outcome {
    let Twin { text, bottleneck } = twin(recorded);
    let scenario = Scenario::parse(&text, &recorded.name).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let draw = Replication { seed: recorded.params.seed, run: 0, trace: None };
    let tables = run(&scenario, draw, &RunOptions::default()).unwrap_or_else(|law| panic!("{law}"));
    let table = |name: &str| Columns(tables.iter().find(|table| table.name == name).expect("a table"));
    let flows = (0..recorded.params.flows).map(|_| FlowOutcome::default()).collect();
    let mut outcome = Outcome { rows: Vec::new(), flows, traffic: Traffic::default() };
    let accepted = outcome.take_packets(&table("packets"), &table("drops"), bottleneck);
    let keeps_certainty = recorded.params.red.as_ref().is_some_and(|red| red.use_mark_p);
    outcome.take_queue(&table("queue"), accepted, recorded.params.red.is_some(), keeps_certainty);
    outcome.take_variables(&table("variables"));
    outcome.take_cuts(&table("tcp"));
    outcome
}

impl Outcome {
    /// The sizes of the packets that the recorded queue has taken.
    fn take_packets(&mut self, packets: &Columns<'_>, drops: &Columns<'_>, bottleneck: &str) -> Vec<u64> {
        let mut accepted: Vec<u64> = Vec::new();
        let reasons: HashMap<u64, &str> =
            (0..drops.len()).map(|row| (drops.whole("serial", row), drops.word("reason", row))).collect();
        for row in 0..packets.len() {
            let (kind, flow) = (packets.word("kind", row), packets.flow(row));
            let is_ack = kind == "ack";
            // The recording names the last segment in order, not the next one expected.
            let number = packets.whole("number", row) as i64 - i64::from(is_ack);
            let size = packets.whole("wire_bytes", row);
            let mine = &mut self.flows[flow];
            let (event, second) = match packets.word("event", row) {
                "send" if is_ack => {
                    mine.in_order = mine.in_order.max((number + 1) as usize);
                    ('K', size.to_string())
                }
                "send" => {
                    let again = packets.whole("retransmission", row);
                    mine.retransmitted += again;
                    if mine.sizes.len() as i64 == number {
                        mine.sizes.push(size);
                    }
                    ('S', again.to_string())
                }
                "enqueue" if packets.word("place", row) == bottleneck && !is_ack => {
                    self.traffic.arrivals.push((packets.whole("time_ns", row) as f64, size));
                    accepted.push(size);
                    ('Q', packets.whole("waiting", row).to_string())
                }
                "mark" => ('M', String::new()),
                "drop" => {
                    let reason = reasons[&packets.whole("serial", row)];
                    let by_queue = matches!(reason, "queue-overflow" | "early-drop");
                    if by_queue && packets.word("place", row) == bottleneck {
                        accepted.pop(); // the latest arrival: both disciplines drop no other
                    }
                    let how = if by_queue { "q" } else { "l" };
                    ('D', if is_ack { format!("{how}a") } else { how.to_owned() })
                }
                _ => continue,
            };
            let (at, flow, first) = (packets.whole("time_ns", row), Some(flow), number.to_string());
            self.rows.push(Row { at, event, flow, first, second });
        }
        accepted
    }

    /// `keeps_certainty`: RED tests the probability 1 like any other.
    fn take_queue(&mut self, queue: &Columns<'_>, accepted: Vec<u64>, is_red: bool, keeps_certainty: bool) {
        let mut gauges = [0.0; 2];
        let (mut waiting, mut accepted) = (0, accepted.into_iter());
        for row in 0..queue.len() {
            let (at, packets) = (queue.whole("time_ns", row), queue.whole("packets", row));
            if packets < waiting {
                self.traffic.departures.push((at as f64, accepted.next().expect("what leaves has come")));
            }
            waiting = packets;
            let (average, probability) = (queue.real("average", row), queue.real("probability", row));
            // ns-2 keeps the probability that was tested last, ours has 0 or 1 where nothing is tested.
            let tested = 0.0 < probability && (probability < 1.0 || keeps_certainty);
            let now = [average, if tested { probability } else { gauges[1] }];
            for (index, name) in ["ave", "prob1"].into_iter().enumerate() {
                if is_red && now[index] != gauges[index] {
                    let (first, second) = (name.to_owned(), now[index].to_string());
                    self.rows.push(Row { at, event: 'R', flow: None, first, second });
                }
            }
            gauges = now;
        }
    }

    fn take_variables(&mut self, variables: &Columns<'_>) {
        for row in 0..variables.len() {
            let whole = |name: &str| variables.whole(name, row);
            let flow = &mut self.flows[variables.flow(row)].variables;
            flow.push(Variables {
                // State at the first input, which is there from the beginning.
                at: if flow.is_empty() { 0 } else { whole("time_ns") },
                cwnd: variables.real("cwnd", row),
                ssthresh: variables.real("ssthresh", row),
                rtt: whole("rtt_ns"),
                srtt: whole("srtt_ns"),
                rttvar: whole("rttvar_ns"),
                rto: whole("rto_ns"),
                backoff: whole("backoff"),
                timeouts: whole("timeouts"),
                reductions: whole("reductions"),
                una: whole("una"),
            });
        }
    }

    fn take_cuts(&mut self, tcp: &Columns<'_>) {
        for row in 0..tcp.len() {
            let what = tcp.word("event", row);
            if !matches!(what, "window" | "recovery-exit") {
                self.flows[tcp.flow(row)].cuts.push((tcp.whole("time_ns", row), what.to_owned()));
            }
        }
    }

    /// Losses by kind.
    pub fn drops(&self) -> BTreeMap<String, u64> {
        let mut drops = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.event == 'D') {
            *drops.entry(row.second.clone()).or_insert(0) += 1;
        }
        drops
    }
}
