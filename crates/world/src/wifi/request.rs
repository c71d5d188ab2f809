//! A planned request of a base station to its hosts to go to other cells.

use crate::ids::CellId;
use roamlab_engine::Time;
use roamlab_packet::Addr;
use roamlab_record::cause::CauseId;
use roamlab_record::ids::NodeId;

/// A planned request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The cell whose base station asks.
    pub cell: CellId,
    /// When it does; `None`: it has.
    pub asks_at: Option<Time>,
    /// When it ends the associations of the hosts that it has asked; `None`: it does not, or has.
    pub ends_at: Option<Time>,
    /// The hosts that it asks; empty: all.
    pub hosts: Vec<NodeId>,
    /// The candidates, the preferred one first.
    pub candidates: Vec<CellId>,
    /// The hosts that it has asked, with the rows of the causes.
    pub asked: Vec<(Addr, CauseId)>,
}
