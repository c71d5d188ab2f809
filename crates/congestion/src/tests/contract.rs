//! Rules that every congestion control must keep. The tests cover each row of the table in `lib.rs`, so a new row is
//! tested automatically. A failure names the row, the event and what to change.

use super::path::control_of;
use crate::ControlParams;
use crate::DeliveryRate;
use crate::params::connections::*;
use crate::{
    AckEvent, AckSource, CONGESTION_CONTROLS, CongestionControl, CongestionControlSpec, Loss, LossEvent,
    RecoveryStep, SsthreshRule, Undo, Window,
};
use roamlab_engine::{Duration, Packets, Rng, Time};
use serde_json::{Value, json};

/// The receiver's window in segments.
const WINDOW: u32 = 400;

/// A row with its parameters left out, and what its window is.
struct Subject {
    name: &'static str,
    control: CongestionControl,
    window: Window,
    params: ControlParams,
    now: Time,
    ack: AckEvent,
}

impl AckSource for AckEvent {
    fn event(&self, _: &Window) -> AckEvent {
        *self
    }
}

impl Subject {
    fn new(name: &'static str, params: ControlParams, max_cwnd: u32) -> Subject {
        let spec: CongestionControlSpec = serde_json::from_value(Value::from(name)).unwrap();
        let initial_window = if params.takes_mean { 2.0 } else { 10.0 };
        let params = ControlParams { max_cwnd: Packets(max_cwnd), ..params };
        Subject {
            name,
            control: CongestionControl::new(&spec),
            window: Window::new(initial_window, &params),
            params,
            now: Time::ZERO + Duration::from_secs(1),
            ack: AckEvent::default(),
        }
    }

    fn loss(&self, kind: Loss, ssthresh: SsthreshRule) -> LossEvent<'_> {
        let (cwnd, params) = (self.window.cwnd, &self.params);
        LossEvent {
            now: self.now,
            kind,
            in_use: cwnd,
            ssthresh,
            least_cwnd: 0.0,
            most_cwnd: cwnd.max(1.0),
            found: None,
            params,
        }
    }

    /// An ACK of `acked` segments after `rtt`, and its event.
    fn ack(&mut self, acked: u32, rtt: Duration, grows: bool) {
        let AckEvent { una, nxt, srtt, .. } = self.ack;
        let (una, window) = (una + acked, (self.window.cwnd as u32).clamp(1, WINDOW));
        let nxt = nxt.max(una + window);
        let in_flight = nxt - una;
        self.now += rtt / u64::from(in_flight.max(1));
        self.ack = AckEvent {
            now: self.now,
            una,
            nxt,
            acked,
            rtt: Some(rtt),
            srtt: if srtt == Duration::ZERO { rtt } else { (srtt * 7 + rtt) / 8 },
            in_flight,
            rate: (acked > 0).then_some(DeliveryRate {
                delivered: in_flight.min(una),
                interval: rtt,
                prior_delivered: una.saturating_sub(in_flight),
                app_limited: false,
                in_flight: in_flight.max(1),
                lost: 0,
            }),
            ..AckEvent::default()
        };
        if grows {
            let ack = self.ack;
            self.control.on_ack(&mut self.window, &ack);
        } else {
            self.control.algorithm().on_other_ack(&mut self.window, &self.ack);
        }
    }

    fn is_sound(&self, event: &str) {
        let Subject { name, window: Window { cwnd, ssthresh, pacing_rate, max_cwnd, .. }, .. } = *self;
        let place = format!("{name}: after {event}");
        assert!(
            cwnd.is_finite() && cwnd > 0.0,
            "{place}: cwnd is {cwnd}; set it to a positive number of segments"
        );
        assert!(ssthresh >= 1.0, "{place}: ssthresh is {ssthresh}; set it to at least one segment");
        assert!(
            pacing_rate > 0.0,
            "{place}: the pacing rate is {pacing_rate}; without pacing it is infinity"
        );
        let bound = "add to cwnd by `window.grow`, which keeps `max_cwnd`";
        assert!(cwnd < max_cwnd + 1.0, "{place}: cwnd {cwnd} is above max_cwnd {max_cwnd}; {bound}");
    }

    fn random_event(&mut self, rng: &mut Rng) -> String {
        let mut below = |end: u32| (rng.uniform() * f64::from(end)) as u32;
        let rule = [SsthreshRule::Set, SsthreshRule::Lower, SsthreshRule::Keep][below(3) as usize];
        let rtt = Duration::from_millis(1 + u64::from(below(400)));
        match below(12) {
            0 => {
                let kind = [Loss::DupAcks, Loss::Echo, Loss::Age { again: false }][below(3) as usize];
                let (loss, mut control) = (self.loss(kind, rule), self.control.clone());
                let mut window = self.window;
                control.algorithm().on_loss(&mut window, &loss);
                (self.control, self.window) = (control, window);
                format!("on_loss, {kind:?}")
            }
            1 => {
                let (loss, mut control) = (self.loss(Loss::Timeout, rule), self.control.clone());
                let mut window = self.window;
                control.algorithm().on_rto(&mut window, &loss);
                (self.control, self.window) = (control, window);
                "on_rto".into()
            }
            2 => {
                let undo = Undo { pipe_prev: self.window.cwnd.max(2.0), cwnd: self.window.cwnd };
                self.control.algorithm().on_undo(&mut self.window, &undo);
                "on_undo".into()
            }
            3 => {
                self.now += Duration::from_secs(u64::from(below(100)));
                self.control.algorithm().on_idle(&mut self.window, 2.0);
                "on_idle".into()
            }
            4 => {
                let step =
                    [RecoveryStep::SlowStart(1.0), RecoveryStep::Deflate(3.0), RecoveryStep::Overshoot];
                let step = step[below(3) as usize];
                self.control.algorithm().on_recovery_step(&mut self.window, step);
                format!("on_recovery_step, {step:?}")
            }
            5 => {
                self.ack(below(2), rtt, false);
                "on_other_ack".into()
            }
            _ => {
                self.ack(1 + below(3), rtt, true);
                "on_ack".into()
            }
        }
    }
}

const CONNECTIONS: [ControlParams; 2] = [RFC, NS2_2009];

#[test]
fn no_sequence_of_events_breaks_the_window() {
    for &(name, _) in CONGESTION_CONTROLS {
        for (sequence, params) in (0..400).zip(CONNECTIONS.into_iter().cycle()) {
            let mut rng = Rng::named(1, sequence, name);
            let mut subject = Subject::new(name, params, if sequence % 4 < 2 { 0 } else { 40 });
            for _ in 0..100 {
                let event = subject.random_event(&mut rng);
                subject.is_sound(&event);
                let paces = subject.window.pacing_interval().is_some();
                let advice = "let `paces` be true, or the parameter `pacing` sets the rate too";
                assert!(
                    !paces || subject.control.algorithm().properties().paces,
                    "{name}: it paces; {advice}"
                );
            }
        }
    }
}

#[test]
fn acks_open_the_window_and_losses_reduce_it() {
    let rtt = Duration::from_millis(50);
    for &(name, _) in CONGESTION_CONTROLS {
        let mut subject = Subject::new(name, RFC, 0);
        let first = subject.window.cwnd;
        (0..2000).for_each(|_| subject.ack(1, rtt, true));
        let opened = subject.window.cwnd;
        let advice = "add to it in `on_ack`, below ssthresh as in slow start";
        assert!(opened > 2.0 * first, "{name}: 2000 ACKs leave cwnd at {opened}, it was {first}; {advice}");
        for kind in [Loss::DupAcks, Loss::Echo, Loss::Timeout] {
            let (mut control, mut window) = (subject.control.clone(), subject.window);
            let loss = subject.loss(kind, SsthreshRule::Set);
            match kind {
                Loss::Timeout => control.algorithm().on_rto(&mut window, &loss),
                _ => control.algorithm().on_loss(&mut window, &loss),
            }
            // A congestion control by rate may keep the window after a loss, but not after a timeout.
            let cwnd = window.cwnd;
            let is_reduced = cwnd < opened || (cwnd == opened && kind != Loss::Timeout);
            let advice = "reduce it by `window.cut`";
            assert!(is_reduced, "{name}: {kind:?} leaves cwnd at {cwnd}, it was {opened}; {advice}");
        }
        let (mut control, mut window) = (subject.control.clone(), subject.window);
        control.algorithm().on_loss(&mut window, &subject.loss(Loss::DupAcks, SsthreshRule::Keep));
        let advice = "reduce it by `window.cut`, which asks the event whether ssthresh stays";
        assert_eq!(window.ssthresh, subject.window.ssthresh, "{name}: ssthresh was to stay; {advice}");
    }
}

#[test]
fn a_name_stands_for_a_table_of_defaults() {
    for &(name, _) in CONGESTION_CONTROLS {
        let read = |text: Value| serde_json::from_value::<CongestionControlSpec>(text).unwrap();
        let (named, table) = (read(name.into()), read(json!({ "kind": name })));
        assert_eq!(named, table, "{name}: give `Params` a `Default`, and `#[serde(default)]`");
        assert_eq!(
            serde_json::to_value(table).unwrap(),
            name,
            "{name}: a table of defaults is written as the name"
        );
    }
    let vegas = control_of(json!({ "kind": "vegas", "beta": "4 pkt" }));
    let written = json!({ "kind": "vegas", "alpha": "1 pkt", "beta": "4 pkt", "gamma": "1 pkt" });
    assert_eq!(serde_json::to_value(vegas).unwrap(), written);
    let wrong =
        serde_json::from_str::<CongestionControlSpec>(r#"{ "kind": "vegas", "delta": 1 }"#).unwrap_err();
    assert!(wrong.to_string().contains("delta"), "{wrong}");
}
