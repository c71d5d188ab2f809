//! Run options: its number in the ensemble, a flag that stops it, its memory limit, the tables that it keeps.

use roamlab_engine::{Bytes, Time};
use roamlab_packet::Packet;
use roamlab_record::{Part, Piece, SLACK, Selection, bytes_soon};
use roamlab_scenario::{NetworkSize, megabytes};
use std::fmt;

/// Inputs that determine a run, in addition to its scenario.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Replication {
    /// The seed of the ensemble.
    pub seed: u64,
    /// The number of the replication within it.
    pub run: u64,
    /// The packet whose way is traced; changes nothing else.
    pub trace: Option<u64>,
}

/// How far a run has come.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Events that have happened.
    pub events: u64,
}

/// Options of a run in addition to its scenario: when it ends, what it keeps, and how much memory it may
/// take.
#[derive(Copy, Clone)]
pub struct RunOptions<'a> {
    /// Asked each 2^14 events; when it returns `false`, the run ends there, with the tables so far.
    pub keep_going: &'a dyn Fn(Progress) -> bool,
    /// Memory limit of network, record and packets; `None`: the memory of the machine.
    pub memory: Option<Bytes>,
    /// Requested data: tables by their names, columns as `table.column`; `None`: everything. No other tables
    /// are recorded, and of those in which not all columns are wanted the others are left out.
    pub tables: Option<&'a [String]>,
    /// Receiver of long tables in pieces, so that memory does not hold them; `None`: none.
    pub stream: Option<Stream<'a>>,
    /// Prefetch what the next events read; `None`: while nodes and packets are many. It changes no result.
    pub look_ahead: Option<bool>,
    /// Nodes and links, by their names, whose packets are captured: the tables `frames` and `frame_bytes`.
    pub capture: Option<&'a [String]>,
}

/// Takes the pieces of a table from the first row to the last, as they come. A table of which a piece has been taken is not
/// among those of the result. All words of its columns are in the first piece, in the others none.
#[derive(Copy, Clone)]
pub struct Stream<'a> {
    /// Rows of a piece, at least, except in the last. A table with fewer is not taken.
    pub rows: usize,
    /// Takes a piece.
    pub take: &'a dyn Fn(Piece<'_>),
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions {
            keep_going: &|_| true,
            memory: None,
            tables: None,
            stream: None,
            look_ahead: None,
            capture: None,
        }
    }
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunOptions { memory, tables, .. } = self;
        f.debug_struct("RunOptions").field("memory", memory).field("tables", tables).finish_non_exhaustive()
    }
}

impl RunOptions<'_> {
    /// The tables and columns that are wanted.
    pub fn selection(&self) -> Selection<'_> {
        Selection(self.tables)
    }
}

/// The network of a run, as a part of what it takes in memory.
pub fn network_part(size: &NetworkSize) -> Part {
    Part { name: NETWORK, rows: size.parts(), bytes: size.bytes(), help: "write a smaller network" }
}

/// A run would take more memory than it may.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryLimit {
    /// When.
    pub time: Time,
    /// Its limits.
    pub limit: Bytes,
    /// The part that takes most.
    pub largest: Part,
}

impl std::error::Error for MemoryLimit {}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryLimit { time, limit, largest: Part { name, rows, help, .. } } = self;
        let limit = megabytes(limit.0);
        write!(f, "at {time}: the run would take more than its {limit} of memory, most of it for {rows} ")?;
        match *name {
            NETWORK => write!(f, "hosts, cells, links and flows")?,
            PACKETS => write!(f, "{PACKETS}")?,
            table => write!(f, "rows of the table `{table}`")?,
        }
        write!(f, "\n  help: {help}, shorten `run.duration`, or let the run take more memory")
    }
}

const NETWORK: &str = "network";

const PACKETS: &str = "packets under way";

/// Refuses a run whose network and record, by their parts, and packets, of which there are `packets`, take more than `limit`.
pub fn check_memory(
    parts: impl IntoIterator<Item = Part>,
    packets: usize,
    limit: Bytes,
    time: Time,
) -> Result<(), MemoryLimit> {
    let held = Part {
        name: PACKETS,
        rows: packets,
        bytes: bytes_soon(packets, SLACK, packets, size_of::<Packet>()),
        help: "lower the limits of queues and buffers",
    };
    let parts = parts.into_iter().chain([held]);
    let (mut total, mut largest) = (0, held);
    for part in parts {
        total += part.bytes;
        largest = if part.bytes > largest.bytes { part } else { largest };
    }
    if total <= limit.0 { Ok(()) } else { Err(MemoryLimit { time, limit, largest }) }
}
