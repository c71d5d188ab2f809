//! Combinations of parameters that the dialect refuses.

use crate::params::{RecoveryKind, SpuriousDetection, TcpParams};
use roamlab_congestion::SpecError;

impl TcpParams {
    /// Why `delayed_ack` is not read by the rule of quick ACKs, and what to write for that.
    pub(crate) const OWN_DELAY: (&'static str, &'static str) =
        ("Linux's receiver has its own delay", "`ack_rule = \"delayed\"`");

    /// Which field cannot be right, and what to write instead.
    pub(crate) fn check_dialect(&self) -> Result<(), SpecError> {
        let by_rack = self.recovery == RecoveryKind::Rack;
        if self.undoes_cuts() && !(by_rack && self.dsack) {
            let text = "\"linux\" needs `recovery = \"rack\"` and `dsack = true`; write \"f-rto\" without";
            return Err(("spurious_detection", text.into()));
        }
        if by_rack && !self.undoes_cuts() && self.spurious_detection != SpuriousDetection::None {
            let text = "the recovery \"rack\" has its own; write \"linux\" or \"none\"";
            return Err(("spurious_detection", text.into()));
        }
        if self.abe && self.ecn && !self.congestion_control.properties().takes_abe {
            let text = "it is for the congestion controls \"reno\" and \"cubic\", without `as_linux`: write one of these, or leave it out";
            return Err(("abe", text.into()));
        }
        if self.receive_autotuning && self.ns2_no_flow_control() {
            let text = "the receivers of ns-2's profiles advertise no window: write false, or the profile \"linux-6\"";
            return Err(("receive_autotuning", text.into()));
        }
        Ok(())
    }
}
