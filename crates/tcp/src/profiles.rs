//! The profiles: a value for every parameter of a TCP connection, and what a scenario changes in them.

use crate::params::*;
use roamlab_congestion::Halving;
use roamlab_engine::{Bytes, Duration, Packets};
use schemars::JsonSchema;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The name of a profile: a built-in one, or one that the scenario declares in `tcp_profiles`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ProfileName {
    /// A built-in profile.
    BuiltIn(Profile),
    /// A profile of the scenario.
    Declared(String),
}

impl Default for ProfileName {
    fn default() -> ProfileName {
        ProfileName::BuiltIn(Profile::default())
    }
}

impl<'de> Deserialize<'de> for ProfileName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known: Result<Profile, ValueError> = Profile::deserialize(name.as_str().into_deserializer());
        Ok(known.map_or(ProfileName::Declared(name), ProfileName::BuiltIn))
    }
}

/// The profiles of a scenario.
#[derive(Copy, Clone, Debug)]
pub struct Profiles<'a> {
    /// The name of the run's.
    pub run: &'a ProfileName,
    /// Those that the scenario declares, by name.
    pub declared: &'a BTreeMap<String, TcpProfile>,
}

impl<'a> Profiles<'a> {
    /// The name of the profile of a connection: its own, if it has one, or the run's.
    pub fn name(self, own: Option<&'a ProfileName>) -> &'a ProfileName {
        own.unwrap_or(self.run)
    }

    /// The profile of a connection. A name that does not exist, which the check refuses, is the default one.
    pub fn of(self, own: Option<&ProfileName>) -> TcpProfile {
        match own.unwrap_or(self.run) {
            ProfileName::BuiltIn(profile) => (*profile).into(),
            ProfileName::Declared(name) => self.declared.get(name).cloned().unwrap_or_default(),
        }
    }
}

macro_rules! profile {
    (
        parameters { $($parameters:tt)+ }
        rules { $($(#[$doc:meta])* $rule:ident: $type:ty,)+ }
    ) => {
        /// A profile of a scenario: a built-in one of which some rules are changed.
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct TcpProfile {
            /// The built-in profile that has the other rules, and the parameters that a flow leaves out.
            pub based_on: Profile,
            /// Phase of the sender's clock in its tick at time zero (ns-2 `boot_time_`); absent: uniform in a tick, from
            /// the flow's own random stream.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub tick_phase: Option<Duration>,
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $rule: Option<$type>,)+
        }
    };
}
tcp_parameters!(profile!);

impl From<Profile> for TcpProfile {
    fn from(based_on: Profile) -> TcpProfile {
        TcpProfile { based_on, ..TcpProfile::default() }
    }
}

impl From<&TcpProfile> for TcpProfile {
    fn from(profile: &TcpProfile) -> TcpProfile {
        profile.clone()
    }
}

impl Profile {
    /// The variant of a connection that names none.
    pub(crate) fn usual_variant(self) -> Variant {
        match self {
            Profile::Linux6 => Variant::Cubic,
            Profile::Linux6Bbr => Variant::Bbr,
            _ => Variant::Reno,
        }
    }
}

impl TcpParams {
    /// The window of a profile: that of ns-2, or the largest that a current receiver gives.
    ///
    /// Linux has 6 MiB of receive buffer at most and gives half of it as window (ip-sysctl: `tcp_rmem`,
    /// `tcp_adv_win_scale` 1).
    pub(crate) fn default_window(profile: Profile, segment: Bytes) -> Packets {
        const LARGEST: u64 = 3 << 20;
        match profile {
            Profile::Rfc | Profile::Linux6 | Profile::Linux6Bbr => {
                Packets((LARGEST / segment.0.max(1)) as u32)
            }
            Profile::Ns2_2009 | Profile::Ns2_2003 | Profile::Ns2_2001 => Packets(20), // ns-2's window_
        }
    }

    /// Every parameter and rule of a profile, given the parameters that others follow from.
    pub(crate) fn of(profile: Profile, variant: Variant, window: Packets, segment: Bytes) -> TcpParams {
        match profile {
            Profile::Rfc => TcpParams::rfc(variant, window, segment),
            Profile::Ns2_2009 => TcpParams::ns2_2009(variant, window, segment),
            Profile::Ns2_2003 => TcpParams::ns2_2003(variant, window, segment),
            Profile::Ns2_2001 => TcpParams::ns2_2001(variant, window, segment),
            Profile::Linux6 | Profile::Linux6Bbr => TcpParams::linux_6(profile, variant, window, segment),
        }
    }

    /// Values that the profiles of the RFCs and of ns-2 share; each of them lists the others.
    fn basic(variant: Variant, window: Packets, segment: Bytes) -> TcpParams {
        let (recovery, congestion_control) = variant.parts();
        TcpParams {
            profile: Profile::Rfc,
            variant,
            recovery,
            congestion_control,
            window,
            segment,
            header: Bytes(40),
            ack_size: Bytes(40),
            handshake: Handshake::None,
            initial_window: Packets(2),
            initial_ssthresh: window,
            max_cwnd: Packets(0),
            max_burst: Packets(0),
            dupack_threshold: 3,
            limited_transmit: true,
            guard_fast_retransmit: true,
            first_loss_unguarded: false,
            tail_loss_probe: true,
            reduction: Reduction::Immediate,
            repeat_fast_retransmit: false,
            inflate_always: false,
            impatient: true,
            partial_deflation: PartialDeflation::Full,
            cap_cwnd_on_exit: false,
            sack_blocks: 0,
            dsack: false,
            timestamps: false,
            spurious_detection: SpuriousDetection::None,
            ecn: false,
            accecn: false,
            abe: false,
            cwr_on_retransmissions: false,
            window_scaling: true,
            receive_autotuning: false,
            echo_latest: false,
            fack_overdamping: false,
            fack_rampdown: false,
            pacing: false,
            tso_deferral: false,
            send_autotuning: false,
            halving: Halving::Real,
            slow_start_restart: true,
            idle_halving: false,
            restart_window: Packets(1),
            tick: Duration::from_millis(1),
            timer_wheel: false,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            rto_rule: RtoRule::Rfc6298,
            backoff: Backoff::Rfc2988,
            stale_rto_on_restart: false,
            delayed_ack: Duration::ZERO,
            ack_rule: AckRule::Delayed,
            immediate_first_ack: true,
        }
    }

    /// The RFCs' recommendations.
    fn rfc(variant: Variant, window: Packets, segment: Bytes) -> TcpParams {
        // RFC 6928 §2: min(10 SMSS, max(2 SMSS, 14600 B)), in whole segments.
        let initial_window = Packets((14_600 / segment.0.max(1)).clamp(2, 10) as u32);
        let (recovery, sack_blocks) = match variant.parts().0 {
            // The authors' sender finds losses by time, also that of a retransmission (draft-ietf-ccwg-bbr cites RFC 8985).
            RecoveryKind::Pipe if variant == Variant::Bbr => (RecoveryKind::Rack, 4),
            RecoveryKind::Pipe => (RecoveryKind::Rfc6675, 4),
            RecoveryKind::Ns2Fack => (RecoveryKind::Fack, 4),
            other => (other, 0),
        };
        TcpParams {
            profile: Profile::Rfc,
            recovery,
            handshake: Handshake::ThreeWay,
            initial_window,
            initial_ssthresh: Packets(u32::MAX), // RFC 5681 §3.1: arbitrarily high
            reduction: Reduction::Prr,
            cap_cwnd_on_exit: true,
            sack_blocks,
            dsack: sack_blocks > 0,
            spurious_detection: SpuriousDetection::FRto, // a handover's delay spike is not a loss
            halving: Halving::Real,
            restart_window: initial_window,
            // ASSUMPTION: RFC 6298 §4 leaves the granularity open ("finer than 100 msec" serves well).
            tick: Duration::from_millis(1),
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            // ASSUMPTION: RFC 1122 §4.2.3.2 gives only the bound of 500 ms; 100 ms is the delay of ns-2's DelAck.
            delayed_ack: Duration::from_millis(100),
            ..TcpParams::basic(variant, window, segment)
        }
    }
    /// ns-2.35 with its defaults untouched.
    fn ns2_2009(variant: Variant, window: Packets, segment: Bytes) -> TcpParams {
        let recovery = variant.parts().0;
        let vegas = recovery == RecoveryKind::Vegas; // sends by separate rules
        TcpParams {
            profile: Profile::Ns2_2009,
            header: Bytes(if vegas { 0 } else { 40 }),
            handshake: if vegas { Handshake::SlowData } else { Handshake::Syn },
            initial_window: Packets(2),
            initial_ssthresh: window,
            first_loss_unguarded: true,
            partial_deflation: PartialDeflation::Ns2,
            sack_blocks: match recovery {
                RecoveryKind::Pipe | RecoveryKind::Rfc6675 | RecoveryKind::Fack | RecoveryKind::Ns2Fack => 3,
                _ => 0,
            },
            cwr_on_retransmissions: true,
            halving: Halving::TruncatedSsthresh,
            restart_window: Packets(1),
            tick: Duration::from_millis(10),
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_millis(200),
            ..TcpParams::basic(variant, window, segment)
        }
    }
    /// ns-2.26.
    ///
    /// ASSUMPTION: only the dates of later changes are known, not this release's values: what is not listed here
    /// is taken to be as in 2009.
    fn ns2_2003(variant: Variant, window: Packets, segment: Bytes) -> TcpParams {
        TcpParams {
            profile: Profile::Ns2_2003,
            halving: Halving::Integer,
            repeat_fast_retransmit: true,
            inflate_always: true,
            cwr_on_retransmissions: false,
            partial_deflation: PartialDeflation::Whole,
            initial_rto: Duration::from_secs(6),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(64),
            ..TcpParams::ns2_2009(variant, window, segment)
        }
    }

    /// ns-2 before 2001, rebuilt from the dates of the changes since.
    fn ns2_2001(variant: Variant, window: Packets, segment: Bytes) -> TcpParams {
        TcpParams {
            profile: Profile::Ns2_2001,
            header: Bytes(0),
            handshake: Handshake::None,
            initial_window: Packets(1),
            limited_transmit: false,
            first_loss_unguarded: false,
            cwr_on_retransmissions: false,
            inflate_always: true,
            impatient: false,
            echo_latest: true,
            partial_deflation: PartialDeflation::Whole,
            halving: Halving::Integer,
            tick: Duration::from_millis(100),
            initial_rto: Duration::from_secs(6),
            min_rto: Duration::ZERO,
            max_rto: Duration::from_secs(100_000),
            backoff: Backoff::Bsd,
            stale_rto_on_restart: true,
            ..TcpParams::ns2_2009(variant, window, segment)
        }
    }

    /// Linux 6 with its default settings.
    fn linux_6(profile: Profile, variant: Variant, window: Packets, segment: Bytes) -> TcpParams {
        let base = TcpParams::rfc(variant, window, segment);
        // No congestion control of the kernel has a separate recovery, and Vegas has none either.
        let is_rack =
            matches!(base.recovery, RecoveryKind::Rfc6675 | RecoveryKind::Rack | RecoveryKind::Vegas);
        TcpParams {
            profile,
            recovery: if is_rack { RecoveryKind::Rack } else { base.recovery },
            reduction: Reduction::LinuxPrr,
            spurious_detection: if is_rack { SpuriousDetection::Linux } else { base.spurious_detection },
            rto_rule: RtoRule::Linux,
            ack_rule: AckRule::Linux,
            congestion_control: base.congestion_control.as_in_linux(),
            idle_halving: true,
            timestamps: true,
            receive_autotuning: true,
            tso_deferral: is_rack,
            send_autotuning: is_rack,
            timer_wheel: true,
            halving: Halving::Whole,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            ..base
        }
    }
}
