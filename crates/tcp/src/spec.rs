//! The fields of a TCP connection in a scenario.

use crate::params::*;
use crate::profiles::{ProfileName, TcpProfile};
use roamlab_congestion::{CongestionControlSpec, SpecError};
use roamlab_engine::{Bytes, Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod refusals;
mod unread;

use refusals::check;

macro_rules! spec {
    (
        parameters { $($(#[$doc:meta])* $name:ident: $type:ty,)+ }
        rules { $($(#[$rule_doc:meta])* $rule:ident: $rule_type:ty,)+ }
    ) => {
        /// A TCP connection. Whatever is left out is filled in by its profile, which has further rules.
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct TcpSpec {
            /// The profile, if not the run's.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub profile: Option<ProfileName>,
            /// The variant: loss recovery and congestion control in one name. Reno if absent, unless the profile has
            /// another one.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub variant: Option<Variant>,
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,)+
        }

        impl TcpSpec {
            /// `params` with what the scenario writes laid over it, for the profile and for the flow.
            fn overlay(&self, profile: &TcpProfile, params: TcpParams) -> TcpParams {
                TcpParams {
                    profile: params.profile,
                    variant: params.variant,
                    $($name: self.$name.unwrap_or(params.$name),)+
                    $($rule: profile.$rule.unwrap_or(params.$rule),)+
                }
            }
        }
    };
}
tcp_parameters!(spec!);

impl TcpSpec {
    /// Fills in what the scenario left open, with the rules of a profile, built-in or declared.
    ///
    /// # Errors
    /// Which parameter or rule cannot be right, and what to write instead.
    pub fn resolve(&self, profile: impl Into<TcpProfile>) -> Result<TcpParams, SpecError> {
        let rules = profile.into();
        let profile = rules.based_on;
        // A congestion control that Reno's recovery does not serve brings its own.
        let usual = match self.congestion_control {
            Some(CongestionControlSpec::Bbr(_)) => Variant::Bbr,
            Some(CongestionControlSpec::Bbr3(_)) => Variant::Bbr3,
            _ => profile.usual_variant(),
        };
        let variant = self.variant.unwrap_or(usual);
        let segment = self.segment.unwrap_or(Bytes(1000)); // ns-2's packetSize_
        let window = self.window.unwrap_or_else(|| TcpParams::default_window(profile, segment));
        let mut params = self.overlay(&rules, TcpParams::of(profile, variant, window, segment));
        if !params.is_ns2() && rules.restart_window.is_none() {
            params.restart_window = params.initial_window; // RFC 5681 §4.1
        }
        if params.congestion_control.properties().needs_accecn {
            params.accecn = self.accecn.unwrap_or(true);
        }
        if params.accecn {
            params.handshake = rules.handshake.unwrap_or(Handshake::ThreeWay);
        }
        if params.congestion_control.properties().needs_ecn || params.accecn {
            params.ecn = self.ecn.unwrap_or(true);
        }
        if params.recovery == RecoveryKind::Rack {
            // It uses SACK, and has its own detection of spurious retransmissions.
            params.sack_blocks = self.sack_blocks.unwrap_or(4);
            params.dsack = rules.dsack.unwrap_or(true);
            params.spurious_detection = self.spurious_detection.unwrap_or(params.undo_of_rack());
        } else {
            let by_rule = rules.reduction.filter(|_| params.takes_prr());
            params.reduction = by_rule.unwrap_or(Reduction::Immediate);
            if params.recovery.goes_by_sack() && params.sack_blocks == 0 {
                params.sack_blocks = self.sack_blocks.unwrap_or(if params.is_ns2() { 3 } else { 4 });
                params.dsack = rules.dsack.unwrap_or(!params.is_ns2());
            }
        }
        check(&params).map_err(|refusal| self.blamed(refusal))?;
        self.check_rtos(&params)?;
        if rules.tick_phase.is_some_and(|phase| phase >= params.tick) {
            let tick = params.tick;
            return Err((
                "tick_phase",
                format!("must be less than a tick of {tick}; write for example \"0 s\""),
            ));
        }
        Ok(params)
    }

    /// A refusal of the recovery, which the variant has brought if it is not written.
    fn blamed(&self, (field, message): SpecError) -> SpecError {
        match (field, self.recovery, self.variant) {
            ("recovery", None, Some(_)) => {
                ("variant", message.replace("leave it out", "leave `variant` out"))
            }
            _ => (field, message),
        }
    }

    /// The bounds of the retransmission timer are in order; otherwise the one that is written is at fault.
    fn check_rtos(&self, params: &TcpParams) -> Result<(), SpecError> {
        let (max, others) =
            (params.max_rto, [("min_rto", params.min_rto), ("initial_rto", params.initial_rto)]);
        let Some((name, least)) = others.into_iter().filter(|&(_, least)| least > max).max_by_key(|it| it.1)
        else {
            return Ok(());
        };
        Err(match self.max_rto {
            Some(_) => {
                ("max_rto", format!("\"{max}\" is below {name} \"{least}\"; write at least \"{least}\""))
            }
            None => (
                name,
                format!(
                    "\"{least}\" is above max_rto \"{max}\"; write at most \"{max}\", or a larger `max_rto` too"
                ),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// A connection and its profile, from parameters and rules in one table.
    fn written(fields: &str, based_on: Profile) -> (TcpSpec, TcpProfile) {
        let Value::Object(fields) = serde_json::from_str(fields).unwrap() else { panic!("{fields}") };
        let is_rule = |name: &str| PARAMETERS.iter().any(|known| known.name == name && known.is_rule);
        let (mut rules, parameters): (serde_json::Map<_, _>, serde_json::Map<_, _>) =
            fields.into_iter().partition(|(name, _)| is_rule(name));
        rules.insert("based_on".into(), serde_json::to_value(based_on).unwrap());
        (serde_json::from_value(parameters.into()).unwrap(), serde_json::from_value(rules.into()).unwrap())
    }

    #[test]
    fn a_profile_whose_rules_are_all_written_is_the_same_one() {
        for (name, _) in PROFILES {
            let based_on: Profile = serde_json::from_value((*name).into()).unwrap();
            for (variant, _) in VARIANTS {
                let spec: TcpSpec =
                    serde_json::from_value(serde_json::json!({ "variant": variant })).unwrap();
                let params = spec.resolve(based_on).unwrap();
                let mut all = serde_json::to_value(&params).unwrap();
                let fields = all.as_object_mut().unwrap();
                fields.retain(|name, _| PARAMETERS.iter().any(|known| known.name == *name && known.is_rule));
                let (_, profile) = written(&all.to_string(), based_on);
                assert_eq!(spec.resolve(&profile).as_ref(), Ok(&params), "{name}, {variant}");
            }
        }
    }

    #[test]
    fn a_profile_fills_in_what_the_scenario_leaves_open() {
        let spec = TcpSpec { window: Some(Packets(64)), segment: Some(Bytes(512)), ..TcpSpec::default() };
        let ns2 = spec.resolve(Profile::Ns2_2009).unwrap();
        assert_eq!((ns2.initial_ssthresh, ns2.min_rto), (Packets(64), Duration::from_millis(200)));
        let rfc = spec.resolve(Profile::Rfc).unwrap();
        assert_eq!((rfc.initial_window, rfc.min_rto), (Packets(10), Duration::from_secs(1)));
        let window = |profile, segment| {
            let spec = TcpSpec { segment, ..TcpSpec::default() };
            spec.resolve(profile).unwrap().window
        };
        assert_eq!(window(Profile::Rfc, Some(Bytes(1460))), Packets(2154), "3 MiB");
        assert_eq!(
            (window(Profile::Rfc, None), window(Profile::Ns2_2003, None)),
            (Packets(3145), Packets(20))
        );
        let old =
            TcpSpec { min_rto: Some(Duration::from_secs(1)), ..spec }.resolve(Profile::Ns2_2001).unwrap();
        assert_eq!(
            (old.min_rto, old.tick, old.header),
            (Duration::from_secs(1), Duration::from_millis(100), Bytes(0))
        );
    }

    #[test]
    fn bbr_is_refused_without_a_recovery_by_sack() {
        for (variant, control) in [(Variant::Bbr, "bbr"), (Variant::Bbr3, "bbr3")] {
            let resolve = |recovery, profile| {
                let spec = TcpSpec { variant: Some(variant), recovery: Some(recovery), ..TcpSpec::default() };
                spec.resolve(profile)
            };
            for profile in [Profile::Rfc, Profile::Linux6, Profile::Ns2_2009] {
                for recovery in [
                    RecoveryKind::Tahoe,
                    RecoveryKind::Reno,
                    RecoveryKind::NewReno,
                    RecoveryKind::Vegas,
                    RecoveryKind::Fack,
                    RecoveryKind::Ns2Fack,
                ] {
                    let (field, text) = resolve(recovery, profile).unwrap_err();
                    assert_eq!(field, "recovery");
                    assert!(
                        text.contains(control) && text.contains("write") && text.contains("rack"),
                        "{text}"
                    );
                }
            }
            for recovery in [RecoveryKind::Rfc6675, RecoveryKind::Rack] {
                let spec = TcpSpec { variant: Some(variant), recovery: Some(recovery), ..TcpSpec::default() };
                let spec = TcpSpec { sack_blocks: Some(4), ..spec };
                assert_eq!(spec.resolve(Profile::Rfc).map(|params| params.recovery), Ok(recovery));
            }
        }
    }

    #[test]
    fn vegas_recovery_is_refused_without_its_congestion_control() {
        for profile in [Profile::Rfc, Profile::Ns2_2009] {
            let resolve = |congestion_control| {
                let recovery = Some(RecoveryKind::Vegas);
                let spec =
                    TcpSpec { recovery, congestion_control: Some(congestion_control), ..TcpSpec::default() };
                spec.resolve(profile).map(|params| params.recovery)
            };
            for other in [
                CongestionControlSpec::Reno(Default::default()),
                CongestionControlSpec::Cubic(Default::default()),
                CongestionControlSpec::Dctcp(Default::default()),
            ] {
                let (field, text) = resolve(other).unwrap_err();
                assert!(field == "recovery" && text.contains("write `congestion_control"), "{field}: {text}");
            }
            let vegas = CongestionControlSpec::Vegas(Default::default());
            assert_eq!(resolve(vegas), Ok(RecoveryKind::Vegas));
        }
    }

    #[test]
    fn a_parameter_that_nothing_reads_is_named() {
        let unread = |fields: &str, based_on| {
            let (spec, profile) = written(fields, based_on);
            let found = spec.unread(&profile, &spec.resolve(&profile).unwrap());
            found.into_iter().map(|(name, ..)| name).collect::<Vec<_>>()
        };
        // Each parameter of a recovery is read by its recovery alone.
        let all = r#""impatient": true, "partial_deflation": "full", "cap_cwnd_on_exit": true, "inflate_always": false,
            "repeat_fast_retransmit": false, "fack_overdamping": false, "fack_rampdown": false, "tail_loss_probe": true,
            "limited_transmit": true, "guard_fast_retransmit": true"#;
        let left = |recovery: &str| {
            let written = format!("{{\"variant\": \"sack\", \"recovery\": \"{recovery}\", {all}}}");
            let unread = unread(&written, Profile::Rfc);
            let names = all.split('"').filter(|word| word.contains('_') || *word == "impatient");
            names.filter(|name| !unread.contains(name)).map(str::to_owned).collect::<Vec<_>>()
        };
        let newreno = ["impatient", "partial_deflation", "cap_cwnd_on_exit", "inflate_always"];
        assert_eq!(left("newreno"), [&newreno[..], &["limited_transmit", "guard_fast_retransmit"]].concat());
        assert_eq!(
            left("reno"),
            ["inflate_always", "repeat_fast_retransmit", "limited_transmit", "guard_fast_retransmit"]
        );
        assert_eq!(
            left("fack"),
            ["fack_overdamping", "fack_rampdown", "limited_transmit", "guard_fast_retransmit"]
        );
        assert_eq!(left("rfc6675"), ["limited_transmit"]);
        assert_eq!(left("rack"), ["tail_loss_probe"]);
        assert_eq!(left("tahoe"), ["limited_transmit", "guard_fast_retransmit"]);
        // Others are read with another parameter, or by some congestion controls.
        let cases = [
            (r#""reduction": "prr""#, r#""variant": "sack""#, "reduction"),
            (r#""cwr_on_retransmissions": true"#, r#""ecn": true"#, "cwr_on_retransmissions"),
            (r#""echo_latest": true"#, r#""timestamps": true"#, "echo_latest"),
            (r#""send_autotuning": true"#, r#""tso_deferral": true"#, "send_autotuning"),
            (r#""idle_halving": true, "slow_start_restart": false"#, "", "idle_halving"),
            (r#""restart_window": "4 pkt", "variant": "bbr""#, "", "restart_window"),
            (r#""slow_start_restart": true, "variant": "bbr3""#, "", "slow_start_restart"),
            (r#""pacing": false, "variant": "bbr""#, "", "pacing"),
            (r#""pacing": false, "variant": "cubic""#, "", ""),
            (r#""restart_window": "4 pkt""#, "", ""),
            (r#""sack_blocks": 3"#, r#""variant": "sack""#, "sack_blocks"),
            (r#""halving": "whole", "variant": "cubic""#, "", "halving"),
            (r#""initial_rto": "500 ms""#, r#""min_rto": "200 ms""#, "initial_rto"),
            (r#""max_cwnd": "70000 pkt""#, r#""window": "80000 pkt""#, "max_cwnd"),
        ];
        for (written, reader, name) in cases {
            let expected: &[&str] = if name.is_empty() { &[] } else { &[name] };
            assert_eq!(unread(&format!("{{{written}}}"), Profile::Rfc), expected, "{written}");
            if !reader.is_empty() {
                assert_eq!(unread(&format!("{{{written}, {reader}}}"), Profile::Rfc), [""; 0], "{written}");
            }
        }
        assert_eq!(unread(r#"{"delayed_ack": "40 ms"}"#, Profile::Linux6), ["delayed_ack"]);
        assert_eq!(unread(r#"{"delayed_ack": "40 ms"}"#, Profile::Rfc), [""; 0]);
    }

    #[test]
    fn a_recovery_by_sack_brings_its_blocks() {
        let blocks = |recovery, profile| {
            let spec =
                TcpSpec { recovery: Some(recovery), variant: Some(Variant::Reno), ..TcpSpec::default() };
            spec.resolve(profile).map(|params| (params.sack_blocks, params.dsack))
        };
        assert_eq!(blocks(RecoveryKind::Rfc6675, Profile::Rfc), Ok((4, true)));
        assert_eq!(blocks(RecoveryKind::Pipe, Profile::Ns2_2009), Ok((3, false)));
        assert_eq!(blocks(RecoveryKind::NewReno, Profile::Rfc), Ok((0, false)));
    }

    #[test]
    fn vegas_in_linux_has_the_recovery_of_every_congestion_control_there() {
        let parts = |profile| {
            let spec = TcpSpec { variant: Some(Variant::Vegas), ..TcpSpec::default() };
            let params = spec.resolve(profile).unwrap();
            (params.recovery, params.handshake)
        };
        assert_eq!(parts(Profile::Linux6), (RecoveryKind::Rack, Handshake::ThreeWay));
        assert_eq!(parts(Profile::Rfc), (RecoveryKind::Vegas, Handshake::ThreeWay));
        assert_eq!(parts(Profile::Ns2_2009), (RecoveryKind::Vegas, Handshake::SlowData));
    }

    #[test]
    fn a_parameter_that_cannot_be_right_is_refused_by_name() {
        let field = |spec: TcpSpec| spec.resolve(Profile::Ns2_2009).unwrap_err().0;
        assert_eq!(field(TcpSpec { window: Some(Packets(0)), ..TcpSpec::default() }), "window");
        assert_eq!(field(TcpSpec { segment: Some(Bytes(0)), ..TcpSpec::default() }), "segment");
        let timeless = TcpProfile { tick: Some(Duration::ZERO), ..Profile::Ns2_2009.into() };
        assert_eq!(TcpSpec::default().resolve(&timeless).unwrap_err().0, "tick");
        assert_eq!(field(TcpSpec { pacing: Some(true), ..TcpSpec::default() }), "pacing");
        assert_eq!(field(TcpSpec { abe: Some(true), ..TcpSpec::default() }), "abe");
        assert_eq!(
            field(TcpSpec { max_rto: Some(Duration::from_millis(100)), ..TcpSpec::default() }),
            "max_rto"
        );
    }
}
