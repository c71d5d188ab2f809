//! Slow periods of a flow: it gets less than half of its earlier rate, or of the rate sent. `docs/metrics.md` defines them.

use crate::record::{Arrivals, FLOOR_NS, Record};
use crate::table::Fault;
use roamlab_slow::{Course, LEAST_PKTS, periods};
use serde::{Deserialize, Serialize};

/// A span in which a flow receives less than half of what it did before, in ns from the start of the run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SlowPeriod {
    /// The flow.
    pub flow: String,
    /// Its start.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// The rate that it is measured by: that before the period, or the one at which datagrams are sent.
    pub before_bps: f64,
    /// The rate in the period.
    pub rate_bps: f64,
    /// It lasts to the end of the run.
    pub cut_off: bool,
}

impl SlowPeriod {
    /// How long it is.
    pub fn length_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

impl Record<'_> {
    /// True if slow periods of a flow can be found: it is a file or of datagrams, and its records are there.
    pub fn has_slow_periods(&self, flow: &str) -> Result<bool, Fault> {
        let recorded = |table: &str| self.scenario["record"][table] == true;
        Ok(recorded("deliveries")
            && if self.connects(flow)? {
                self.table_of(flow)["app"]["kind"] == "ftp"
            } else {
                recorded("packets")
            })
    }

    /// The slow periods of a file transfer or of a flow of datagrams, in order of time; of other flows none. Reads `flows`
    /// and `deliveries`, of datagrams `packets` too.
    pub fn slow_periods(&self, flow: &str) -> Result<Vec<SlowPeriod>, Fault> {
        if !self.has_slow_periods(flow)? {
            return Ok(Vec::new());
        }
        let arrivals = Arrivals::of(self, flow)?;
        if arrivals.fresh.len() < LEAST_PKTS {
            return Ok(Vec::new());
        }
        let bytes = self.table("deliveries")?.numbers("bytes")?;
        let fresh = arrivals.fresh.iter().map(|&row| (arrivals.times.int(row), bytes.real(row)));
        let arrived = Course::new(fresh);
        let sent = if self.connects(flow)? { None } else { Some(self.datagrams(flow, arrivals.delay_ns)?) };
        let limit = FLOOR_NS.max(2 * arrivals.delay_ns);
        let found = periods(&arrived, sent.as_ref(), limit, self.end(flow)?).into_iter();
        let period = |each: roamlab_slow::Period| SlowPeriod {
            flow: flow.to_owned(),
            start_ns: each.start_ns,
            end_ns: each.end_ns,
            before_bps: each.before_bps,
            rate_bps: each.rate_bps,
            cut_off: each.cut_off,
        };
        Ok(found.map(period).collect())
    }

    /// Sent datagrams, and when they would arrive without waiting.
    fn datagrams(&self, flow: &str, delay_ns: i64) -> Result<Course, Fault> {
        let table = self.table("packets")?;
        let (is_send, is_datagram) =
            (table.words("event")?.among(&["send"]), table.words("kind")?.among(&["datagram"]));
        let (times, sizes) = (table.numbers("time_ns")?, table.numbers("wire_bytes")?);
        let rows = self.rows("packets", flow)?.filter(|&row| is_send(row) && is_datagram(row));
        Ok(Course::new(rows.map(|row| (times.int(row) + delay_ns, sizes.real(row)))))
    }
}
