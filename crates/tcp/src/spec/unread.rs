//! Parameters and rules that are written and change nothing.

use super::TcpSpec;
use crate::params::*;
use crate::profiles::TcpProfile;
use roamlab_congestion::CongestionControlSpec;

/// The reader of a parameter, and what to write for that.
type Reader = (&'static str, &'static str);
const REDUCES: Reader =
    ("only the recoveries \"rack\" and \"rfc6675\" reduce the window in proportion", "`recovery = \"rack\"`");
const PROBES: Reader = ("only the recovery \"rack\" probes for the loss of a tail", "`recovery = \"rack\"`");
const REPEATS: Reader = ("only the recovery \"reno\" has it", "`recovery = \"reno\"`");
const INFLATES: Reader =
    ("only the recoveries \"reno\" and \"newreno\" inflate the window", "`recovery = \"newreno\"`");
const LIMITED: Reader = ("its recovery sends on the first duplicate ACKs by its own rule", "");
const ECHOES: Reader = ("only a connection with ECN answers echoes", "`ecn = true`");
const TIMESTAMPS: Reader = ("its segments carry no timestamps", "`timestamps = true`");
const BURSTS: Reader = ("only a sender with `tso_deferral` has this buffer", "`tso_deferral = true`");
const BLOCKS: Reader = ("only a recovery by SACK reads them", "`variant = \"sack\"`");
const DUPLICATES: Reader =
    ("a loss in a full window leaves fewer duplicate ACKs than this", "a larger `window` too");
const HALVES: Reader = (
    "only the congestion controls \"reno\" and \"dctcp\" halve by this rule",
    "`congestion_control = \"reno\"`",
);
const ANNOUNCES: Reader = ("the receivers of ns-2's profiles announce no window", "the profile \"rfc\"");
const TICKS: Reader =
    ("ns-2's profiles count round trips in ticks, by their own rule", "the profile \"rfc\"");
const RAISED: Reader = ("the timer never runs for less than `min_rto`", "a smaller `min_rto` too");
const WINDOW: Reader = ("`window` is no larger", "a larger `window` too");
const NO_RESTART: Reader =
    ("only a congestion control without a model of the path reduces the window after idle", "");
const RESTARTS: Reader =
    ("only `slow_start_restart` reduces the window after idle", "`slow_start_restart = true`");
const PACES: Reader = ("its congestion control paces anyway", "another congestion control");

/// A parameter: true if it is written, true if it is read, its name, and its reader.
type Row = (bool, bool, &'static str, Reader);

impl TcpSpec {
    /// Parameters and rules that are written and change nothing, as the connection has another recovery, congestion control
    /// or parameter: the name, what reads it, and what to write. `params`: what this resolves to under the profile.
    pub fn unread(
        &self,
        profile: &TcpProfile,
        params: &TcpParams,
    ) -> Vec<(&'static str, &'static str, &'static str)> {
        let rows = self.of_recovery(profile, params).into_iter().chain(self.of_others(profile, params));
        let unread = rows.filter(|&(is_written, is_read, ..)| is_written && !is_read);
        unread.map(|(_, _, name, (reader, write))| (name, reader, write)).collect()
    }

    /// Parameters that only some loss recoveries read.
    fn of_recovery(&self, profile: &TcpProfile, params: &TcpParams) -> [Row; 12] {
        use RecoveryKind::*;
        let recovers_by = |kinds: &[RecoveryKind]| kinds.contains(&params.recovery);
        let newreno = ("only the recovery \"newreno\" has partial ACKs", "`recovery = \"newreno\"`");
        let fack = ("only FACK's recovery has it", "`variant = \"fack\"`");
        let guarded = ("the recoveries \"rfc6675\" and \"rack\" have a rule without a switch", "");
        let is_guarded = !recovers_by(&[Rfc6675, Rack, Ns2Fack]);
        [
            (profile.reduction.is_some(), params.takes_prr(), "reduction", REDUCES),
            (profile.tail_loss_probe.is_some(), recovers_by(&[Rack]), "tail_loss_probe", PROBES),
            (profile.impatient.is_some(), recovers_by(&[NewReno]), "impatient", newreno),
            (profile.partial_deflation.is_some(), recovers_by(&[NewReno]), "partial_deflation", newreno),
            (profile.cap_cwnd_on_exit.is_some(), recovers_by(&[NewReno]), "cap_cwnd_on_exit", newreno),
            (
                profile.repeat_fast_retransmit.is_some(),
                recovers_by(&[Reno]),
                "repeat_fast_retransmit",
                REPEATS,
            ),
            (profile.inflate_always.is_some(), recovers_by(&[Reno, NewReno]), "inflate_always", INFLATES),
            (profile.fack_overdamping.is_some(), recovers_by(&[Fack, Ns2Fack]), "fack_overdamping", fack),
            (profile.fack_rampdown.is_some(), recovers_by(&[Fack, Ns2Fack]), "fack_rampdown", fack),
            (self.limited_transmit.is_some(), !recovers_by(&[Rack, Ns2Fack]), "limited_transmit", LIMITED),
            (profile.guard_fast_retransmit.is_some(), is_guarded, "guard_fast_retransmit", guarded),
            (
                profile.first_loss_unguarded.is_some(),
                is_guarded || params.is_ns2(),
                "first_loss_unguarded",
                guarded,
            ),
        ]
    }

    /// Parameters that only some congestion controls, options and clocks read.
    fn of_others(&self, profile: &TcpProfile, params: &TcpParams) -> [Row; 16] {
        let is_model = matches!(
            params.congestion_control,
            CongestionControlSpec::Bbr(_) | CongestionControlSpec::Bbr3(_)
        );
        let paces = is_model || matches!(params.congestion_control, CongestionControlSpec::Prague(_));
        let halves = matches!(
            params.congestion_control,
            CongestionControlSpec::Reno(_) | CongestionControlSpec::Dctcp(_)
        );
        let restarts = params.slow_start_restart && !is_model;
        let restart = if is_model { NO_RESTART } else { RESTARTS };
        let is_delayed = params.ack_rule == AckRule::Delayed;
        [
            (profile.cwr_on_retransmissions.is_some(), params.ecn, "cwr_on_retransmissions", ECHOES),
            (profile.echo_latest.is_some(), params.timestamps || params.is_ns2(), "echo_latest", TIMESTAMPS),
            (profile.send_autotuning == Some(true), params.tso_deferral, "send_autotuning", BURSTS),
            (profile.idle_halving.is_some(), restarts, "idle_halving", restart),
            (profile.restart_window.is_some(), restarts, "restart_window", restart),
            (profile.slow_start_restart.is_some(), !is_model, "slow_start_restart", restart),
            (self.delayed_ack.is_some(), is_delayed, "delayed_ack", TcpParams::OWN_DELAY),
            (self.pacing == Some(false), !paces, "pacing", PACES),
            (
                self.sack_blocks.is_some_and(|most| most > 0),
                params.recovery.goes_by_sack(),
                "sack_blocks",
                BLOCKS,
            ),
            (profile.dsack == Some(true), params.sack_blocks > 0, "dsack", BLOCKS),
            (profile.halving.is_some(), halves, "halving", HALVES),
            (
                profile.dupack_threshold.is_some(),
                params.dupack_threshold < params.window.0,
                "dupack_threshold",
                DUPLICATES,
            ),
            (profile.window_scaling.is_some(), !params.is_ns2(), "window_scaling", ANNOUNCES),
            (profile.rto_rule.is_some(), !params.is_ns2(), "rto_rule", TICKS),
            (self.initial_rto.is_some(), params.initial_rto >= params.min_rto, "initial_rto", RAISED),
            (
                profile.max_cwnd.is_some_and(|most| most.0 > 0),
                params.max_cwnd < params.window,
                "max_cwnd",
                WINDOW,
            ),
        ]
    }
}
