//! Marks of single packets, as other analysers of captures give them.

use crate::flows::Flow;
use crate::packets::Row;
use crate::tcp::{FIN, RST, SYN};
use crate::why::exchange::Exchange;
use crate::why::sendings::Sendings;
use serde::Serialize;

/// A packet of a flow, and its marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Marks {
    /// When, in ns.
    pub time_ns: i64,
    /// Data that begin below the highest number that was seen.
    pub is_again: bool,
    /// An acknowledgement without data that repeats the number of the last one, while data are outstanding.
    pub is_duplicate: bool,
    /// An acknowledgement that offers no room.
    pub is_closed: bool,
}

/// The marks of all packets of a flow, in order of time.
pub fn marks(flow: &Flow) -> Vec<Marks> {
    let (exchange, mut sendings) = (Exchange::new(flow), Sendings::default());
    let mark = |row: Row| {
        let mut made = Marks { time_ns: row.time_ns, is_again: false, is_duplicate: false, is_closed: false };
        if exchange.is_data(&row) {
            made.is_again = row.seq < sendings.highest;
            sendings.send(&row);
        } else if exchange.is_ack(&row) && !row.has(SYN | RST) {
            made.is_duplicate = sendings.is_repeated(&row) && !row.has(FIN);
            made.is_closed = row.window == 0;
            sendings.acknowledge(&row, flow.packets.sacks(&row));
        }
        made
    };
    flow.packets.rows().map(mark).collect()
}
