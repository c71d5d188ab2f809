//! Moves of hosts, by their plan or by commands of their agents, and the notices to agents.

use super::Agents;
use crate::context::Context;
use crate::dataplane::network::{Done, Network};
use crate::ids::CellId;
use roamlab_engine::{Duration, Time};
use roamlab_mobility::{
    Action, Condition, Event, L2Trigger, MobilityAction, Prediction, Reference, ReferenceCell,
};
use roamlab_packet::Addr;
use roamlab_radio::{self as radio, Finding, Motion, Test};
use roamlab_record::cause::{Cause, CurrentCause, Kind};
use roamlab_record::ids::{Location, NodeId};

/// An event of a protocol as layer 2 tests it.
fn tested(event: &Event) -> radio::Event {
    let place = |reference: Reference| match reference {
        Reference::Point(point) => radio::Reference::Point(point),
        Reference::Cell(ReferenceCell::Serving) => radio::Reference::Serving,
        Reference::Cell(ReferenceCell::Neighbour) => radio::Reference::Neighbour,
    };
    let (test, time_to_trigger) = match *event {
        Event::A3(a3) => {
            let (offset_db, hysteresis_db) = (a3.offset_db, a3.hysteresis_db);
            (Test::Offset { offset_db, hysteresis_db }, a3.time_to_trigger)
        }
        Event::A4(a4) => {
            let thresholds = Test::Thresholds {
                serving_below_dbm: f64::INFINITY,
                neighbour_above_dbm: a4.threshold_dbm,
                hysteresis_db: a4.hysteresis_db,
            };
            (thresholds, a4.time_to_trigger)
        }
        Event::A5(a5) => {
            let thresholds = Test::Thresholds {
                serving_below_dbm: a5.threshold1_dbm,
                neighbour_above_dbm: a5.threshold2_dbm,
                hysteresis_db: a5.hysteresis_db,
            };
            (thresholds, a5.time_to_trigger)
        }
        Event::D1(d1) => {
            let distances = Test::Distances {
                from: place(d1.reference1),
                beyond_m: d1.distance1_m,
                to: place(d1.reference2),
                within_m: d1.distance2_m,
                hysteresis_m: d1.hysteresis_m,
            };
            (distances, d1.time_to_trigger)
        }
        Event::T1(t1) => {
            let from = Time::ZERO + t1.t1_threshold;
            (Test::Window { from, until: from + t1.duration }, Duration::ZERO)
        }
    };
    radio::Event { test, time_to_trigger }
}

impl Agents {
    /// A host evaluates these conditions. A candidate has to be a base station with a cell.
    pub(super) fn evaluate(host: NodeId, conditions: &[Condition], net: &mut Network) -> Done {
        let cell = |station: &Addr| {
            let cell = net.node_at(*station).and_then(|station| net.cell_of(station));
            cell.map(|cell| cell.0 as usize).ok_or("measures a candidate that has no cell")
        };
        let numbered = |condition: &Condition| {
            let Condition { name, report_interval, leaves_at_once, unfiltered, .. } = *condition;
            let candidates: Option<Result<_, &str>> =
                condition.candidates.as_ref().map(|all| all.iter().map(cell).collect());
            let candidates = candidates.transpose()?;
            let (event, second) = match condition.events.0.as_slice() {
                [event] => (tested(event), None),
                [event, second] => (tested(event), Some(tested(second))),
                _ => return Err("evaluates a condition that has not one event or two".into()),
            };
            Ok(radio::Condition {
                name,
                candidates,
                event,
                second,
                report_interval,
                leaves_at_once,
                unfiltered,
            })
        };
        let filter_coefficient = conditions.first().map_or(0, |first| first.filter_coefficient);
        let numbered = conditions.iter().map(numbered).collect::<Done<Vec<_>>>()?;
        net.cells().evaluate(host, filter_coefficient, numbered);
        Ok(())
    }

    /// The next motion of a host's plan.
    pub fn move_host(&mut self, host: NodeId, net: &mut Network, cx: &mut Context) {
        let Some((motion, cell, row)) = net.cells().next_motion(host, cx) else { return };
        cx.with_cause(CurrentCause::Row(row), |cx| match motion {
            Motion::Leave { .. } => self.leave(host, cell, net, cx),
            Motion::Enter { .. } => self.enter(host, cell, net, cx),
        });
    }

    /// Requests of a host's agent to change its cells.
    pub(super) fn ask_to_move(
        &mut self,
        node: NodeId,
        action: MobilityAction,
        net: &mut Network,
        cx: &mut Context,
    ) -> Done {
        if !net.address(node).is_mobile() {
            return Err("changes cells, and the node is no mobile host".into());
        }
        match action {
            Action::Leave => self.leave_all(node, net, cx),
            Action::Enter { base_station, after } => self.command_entry(node, (base_station, after), net, cx),
            Action::EnterToo { base_station, after } => {
                let stays = net.cells().uplink_cell(node);
                net.cells().pin_uplink(node, stays);
                self.command_further_entry(node, (base_station, after), net, cx);
            }
            Action::UseUplink { base_station } => return net.use_uplink(node, base_station, cx),
            // A cell that the host is not in is left already.
            Action::LeaveCell { base_station } => {
                let cell = net.node_at(base_station).and_then(|station| net.cell_of(station));
                cell.into_iter().for_each(|cell| self.leave(node, cell, net, cx));
            }
            other => unreachable!("{other:?} is no move"),
        }
        Ok(())
    }

    /// The host's agent wants it in a cell, and in no other.
    pub(super) fn command_entry(
        &mut self,
        host: NodeId,
        (base_station, after): (Addr, Duration),
        net: &mut Network,
        cx: &mut Context,
    ) {
        self.leave_all(host, net, cx);
        self.command_further_entry(host, (base_station, after), net, cx);
    }

    /// The host's agent wants it in a cell too.
    fn command_further_entry(
        &mut self,
        host: NodeId,
        (base_station, after): (Addr, Duration),
        net: &mut Network,
        cx: &mut Context,
    ) {
        let cause = cx.current_cause();
        let cell = net.node_at(base_station).and_then(|station| net.cell_of(station));
        if let Some(cell) = cell {
            net.cells().command(host, (cell, cx.now + after), cause, cx);
        }
    }

    /// The host has synchronised with the cell that its agent wants it in, unless it has another command by now.
    pub fn commanded_entry(&mut self, host: NodeId, net: &mut Network, cx: &mut Context) {
        if let Some((cell, cause)) = net.cells().commanded(host, cx.now) {
            cx.with_cause(CurrentCause::Row(cause), |cx| self.enter(host, cell, net, cx));
        }
    }

    /// The host measures its cells, and its agent learns what that reveals.
    pub fn measure(&mut self, node: NodeId, net: &mut Network, cx: &mut Context) {
        let host = net.address(node);
        net.settle_bearers(node, cx);
        for finding in net.cells().measure(node, cx) {
            let base_station = |cell: usize| net.base_station(CellId(cell as u32)).1;
            let (phase, trigger) = match finding {
                Finding::Better { condition, cell } => {
                    let base_station = base_station(cell);
                    ("neighbour-better", L2Trigger::NeighbourBetter { condition, base_station })
                }
                Finding::RadioLinkFailure => ("radio-link-failure", L2Trigger::RadioLinkFailure),
                Finding::Found(cell) => {
                    ("cell-found", L2Trigger::CellFound { base_station: base_station(cell) })
                }
            };
            let root = cx.add_cause(Cause::root(Kind::Measurement).about(Some(host)));
            cx.with_cause(CurrentCause::Row(root), |cx| {
                let phase = net.cells().note(node, phase, node, cx);
                cx.with_cause(CurrentCause::Row(phase), |cx| {
                    self.notify_agents(node, host, &trigger, net, cx)
                });
            });
        }
    }

    /// The base station that has a host, if one has, is notified where the host is expected, and the host
    /// itself. `false`: the prediction is that of an alternative, and nothing happens.
    pub fn predict(&mut self, number: u32, net: &mut Network, cx: &mut Context) -> bool {
        if !self.own.contains(&number) {
            return false;
        }
        let Prediction { host, base_station, .. } = self.predictions[number as usize];
        let Some(cell) = net.cells().newest_cell(host) else { return true };
        let trigger = L2Trigger::HandoverPredicted { host, base_station };
        let (station, _) = net.base_station(cell);
        let row = Cause::root(Kind::Prediction).at(Location::Node(station)).about(Some(host));
        let led = CurrentCause::Row(cx.add_cause(row));
        cx.with_cause(led, |cx| {
            self.notify_agents(station, host, &trigger, net, cx);
            if let Some(node) = net.node_at(host) {
                self.notify_agents(node, host, &trigger, net, cx);
            }
        });
        true
    }

    /// The host leaves all cells, and goes to none that its agent has sent it to.
    pub(super) fn leave_all(&mut self, host: NodeId, net: &mut Network, cx: &mut Context) {
        for cell in net.cells().stop(host) {
            self.leave(host, cell, net, cx);
        }
    }

    /// The host leaves a cell: its layer 2 and the base station's report it.
    fn leave(&mut self, node: NodeId, cell: CellId, net: &mut Network, cx: &mut Context) {
        let Some(row) = net.leave(node, cell, cx) else { return };
        let (host, (station, base_station)) = (net.address(node), net.base_station(cell));
        let down = L2Trigger::LinkDown { base_station };
        cx.with_cause(CurrentCause::Row(row), |cx| {
            self.notify_agents(node, host, &down, net, cx);
            self.notify_agents(station, host, &L2Trigger::HostGone { host }, net, cx);
        });
    }

    /// The host enters a cell, or turns back to one that it is in still: its layer 2 reports either, and the base
    /// station's only the first.
    pub(super) fn enter(&mut self, node: NodeId, cell: CellId, net: &mut Network, cx: &mut Context) {
        let Some((stays, row)) = net.enter(node, cell, cx) else { return };
        let (host, (station, base_station)) = (net.address(node), net.base_station(cell));
        let up = L2Trigger::LinkUp { base_station };
        cx.with_cause(CurrentCause::Row(row), |cx| {
            if !stays {
                self.notify_agents(station, host, &L2Trigger::HostArrived { host }, net, cx);
            }
            self.notify_agents(node, host, &up, net, cx);
        });
    }
}

#[cfg(test)]
mod tests;
