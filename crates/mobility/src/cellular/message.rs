//! The messages that the blocks send, by name, and their way out.

use super::phase::Phase;
use crate::agent;
use crate::signal::Signal;
use roamlab_packet::{Addr, Counts, MarkingState};
use std::convert::Infallible;

/// Why a source asks a target to prepare.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Plan {
    /// It commands the UE when the target is prepared.
    Command,
    /// It has the path switched, before the UE comes: what the gateway sends directly comes first.
    SwitchEarly,
    /// The UE comes when it meets the execution condition, or does not come.
    Condition,
    /// The UE is commanded to come and to stay at the source meanwhile (DAPS, TS 38.300 §9.2.3.2.1).
    Dual,
}

impl Plan {
    /// The source learns from the target that the UE has come.
    pub(crate) fn reports_success(self) -> bool {
        matches!(self, Plan::Condition | Plan::Dual)
    }
}

/// A message that a block sends. A generation has its own message for each, with its name and size.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Message {
    /// Base station → UE: measure, and report.
    MeasurementControl,
    /// Source → target: take this UE.
    HandoverRequest { plan: Plan },
    /// Source → UE: go there.
    HandoverCommand { target: Addr },
    /// Source → UE: go to the first of these that meets the execution condition.
    ConditionalReconfiguration { candidates: Vec<Addr> },
    /// Target → source: the UE has met the execution condition and is here.
    HandoverSuccess,
    /// Source → target: the state of bearers without loss. `counts`: the numbers of a numbered bearer.
    SnStatusTransfer { marking: Option<MarkingState>, counts: Option<Counts> },
    /// Source → target: forget the preparation.
    HandoverCancel,
    /// Target → UE: the answer to its preamble.
    RandomAccessResponse,
    /// Base station → core network: the path of the UE goes to this base station. `prepared`: the core network has
    /// prepared the handover, and a notice is enough.
    PathSwitchRequest { base_station: Addr, prepared: bool },
    /// Core network → who asked: the path goes there.
    PathSwitchRequestAck,
    /// Core network → who asked: a newer handover is known, or no such UE.
    PathSwitchRequestFailure {
        /// The gateway has not answered: the sessions are released.
        released: bool,
    },
    /// Who has the path switched → who switches it.
    ModifyBearerRequest { base_station: Addr, complete: bool },
    /// Core network → base station: this UE has a new connection there.
    InitialContextSetup,
    /// Core network → the base station that had the UE before: it has another connection now.
    ContextReleaseCommand,
    /// Target → source: the UE is here, and the path.
    ContextRelease,
    /// Gateway → source → target: nothing follows on the old path.
    EndMarker,
    /// Base station → UE: the connection continues.
    Reestablishment,
}

/// An action of a block, except a message.
pub(crate) type Action = agent::Action<Infallible, Phase>;

/// Where actions and messages of blocks go: the list of a generation's own actions.
pub(crate) trait Out {
    /// Appends an action.
    fn push(&mut self, action: Action);

    /// Sends a message, as the generation has it.
    fn send(&mut self, to: Addr, message: Signal<Message>);
}

impl<K: From<Message>> Out for Vec<agent::Action<Signal<K>, Phase>> {
    fn push(&mut self, action: Action) {
        self.push(action.map(|never| match never {}, |phase| phase));
    }

    fn send(&mut self, to: Addr, message: Signal<Message>) {
        self.push(message.map(K::from).to(to));
    }
}
