//! The part of a stall that is due to the timer: the path was back, and the sender still waited for its retransmission timer.

use crate::numbers::seconds;
use crate::record::Record;
use crate::stalls::Stall;
use crate::table::Fault;
use roamlab_engine::Duration;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;

/// A sender that waited although its path was there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Wait {
    /// When the path was back, in ns.
    pub back_ns: i64,
    /// The part that was back: the link, or the host that had a cell again.
    #[serde(rename = "where")]
    pub place: String,
    /// It is a link.
    pub is_link: bool,
    /// Last expiry of the timer in the stall, in ns.
    pub expired_ns: i64,
}

impl Wait {
    /// The sentence about it.
    pub fn sentence(&self) -> String {
        let Wait { place, back_ns, expired_ns, .. } = self;
        let what = if self.is_link {
            format!("the link {place} was up again")
        } else {
            format!("{place} was in a cell again")
        };
        let later = format!("the retransmission timer expired {} s later", seconds(expired_ns - back_ns));
        format!("{what} at {} s, and {later}: this part of the stall is the timer's", seconds(*back_ns))
    }
}

impl Record<'_> {
    /// The wait for the timer after the path was back; `None`: nothing was away, or the sender sent in between. Reads `flows`,
    /// `tcp`, `drops`, `handovers` and `packets`.
    pub fn wait(&self, network: &Value, stall: &Stall) -> Result<Option<Wait>, Fault> {
        if stall.is_slow {
            return Ok(None);
        }
        let expired = self.timeouts(stall)?;
        if expired.is_empty() {
            return Ok(None);
        }
        let time = self.table("tcp")?.numbers("time_ns")?;
        let last = expired.into_iter().map(|row| time.int(row)).filter(|time| *time > stall.start_ns).max();
        let Some(last) = last else { return Ok(None) };
        let mut back = self.links_up(network, stall)?;
        back.extend(self.entries(stall)?);
        let Some((back_ns, place, is_link)) = back.into_iter().filter(|(time, ..)| *time < last).max() else {
            return Ok(None);
        };
        let time = self.table("packets")?.numbers("time_ns")?;
        let sent = self.sent(&stall.flow)?.into_iter().any(|row| (back_ns..last).contains(&time.int(row)));
        Ok((!sent).then_some(Wait { back_ns, place, is_link, expired_ns: last }))
    }

    /// When each link that had lost packets because it was down was up again.
    fn links_up(&self, network: &Value, stall: &Stall) -> Result<Vec<(i64, String, bool)>, Fault> {
        let lost = self.losses(stall)?;
        if lost.is_empty() {
            return Ok(Vec::new());
        }
        let table = self.table("drops")?;
        let (time, place, is_down) =
            (table.numbers("time_ns")?, table.words("place")?, table.words("reason")?.among(&["link-down"]));
        let mut down = FxHashMap::default();
        for row in lost.into_iter().filter(|&row| is_down(row)) {
            let last = down.entry(place.at(row)).or_insert(i64::MIN);
            *last = time.int(row).max(*last);
        }
        let mut found = Vec::new();
        for link in network["links"].as_array().into_iter().flatten() {
            for name in names(link) {
                let Some(lost) = down.get(name.as_str()) else { continue };
                let changes =
                    link["changes"].as_array().into_iter().flatten().filter(|each| each["up"] == true);
                let up = changes.filter_map(|each| {
                    Some(each["at"].as_str()?.parse::<Duration>().ok()?.as_nanos() as i64)
                });
                found.extend(up.filter(|at| at > lost).min().map(|at| (at, name, true)));
            }
        }
        Ok(found)
    }

    /// When the hosts at the flow's ends entered cells in the stall.
    fn entries(&self, stall: &Stall) -> Result<Vec<(i64, String, bool)>, Fault> {
        let table = self.table("handovers")?;
        let (time, host, is_up) =
            (table.numbers("time_ns")?, table.words("host")?, table.words("phase")?.among(&["link-up"]));
        let is_end = host.among(&self.ends(&stall.flow)?);
        let rows =
            (0..table.rows()).filter(|&row| is_up(row) && is_end(row) && time.int(row) > stall.start_ns);
        Ok(rows.map(|row| (time.int(row), host.at(row).to_owned(), false)).collect())
    }
}

/// The names of a link's two directions.
pub(crate) fn names(link: &Value) -> Vec<String> {
    let ends: Vec<&str> =
        link["between"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let back: Vec<&str> = ends.iter().rev().copied().collect();
    vec![ends.join("->"), back.join("->")]
}
