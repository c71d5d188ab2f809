//! Web browsing: pages of objects, each asked for by a request and sent back over TCP.
//!
//! Model: ns-2's PagePool/WebTraf as in its example scripts. Pages follow a think time, exponentially distributed,
//! after the end of the page before. Objects of a page are requested one after the other; their sizes are Pareto
//! distributed. DEVIATION: sizes are in bytes, not in packets; one server; a response begins when its request has
//! arrived.

use crate::{Application, Arrived, Checked, Offer, Unit, UnitKind, draw_start};
use roamlab_engine::{Bytes, Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str = "web browsing over TCP: pages of objects, each with a request, and think times";

/// How objects share connections.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// One for all (HTTP/1.1).
    Persistent,
    /// A new one for each, with its handshake if the transport has one (HTTP/1.0, ns-2).
    PerObject,
}

/// Parameters of a session. The flow goes from the server to the client.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The earliest start.
    pub start: Duration,
    /// The start is uniform in [`start`, `start + start_within`), drawn from the flow's own random stream.
    pub start_within: Duration,
    /// Nothing is asked for from then on; absent: with the run.
    pub stop: Option<Duration>,
    /// Pages of the session; absent: as many as there is time for.
    pub pages: Option<u32>,
    /// Mean think time between the end of a page and the next one.
    pub think: Duration,
    /// Objects of a page.
    pub objects: u32,
    /// Mean time between the end of an object and the request for the next one of its page.
    pub between_objects: Duration,
    /// Mean size of an object.
    pub object: Bytes,
    /// Shape of the Pareto distribution of sizes, above 1; below 2 their variance is infinite.
    pub shape: f64,
    /// The largest object.
    pub largest: Bytes,
    /// Size of a request.
    pub request: Bytes,
    /// "persistent" (default) or "per-object".
    pub connections: Connections,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            start: Duration::ZERO,
            start_within: Duration::ZERO,
            stop: None,
            pages: None,
            think: Duration::from_secs(15),
            objects: 1,
            between_objects: Duration::from_millis(10),
            object: Bytes(12_000),
            shape: 1.2,
            largest: Bytes(100_000_000),
            request: Bytes(350),
            connections: Connections::Persistent,
        }
    }
}

impl Checked for Params {
    fn start_within(&self) -> Duration {
        self.start_within
    }

    fn validate(&self) -> Result<(), (&'static str, String)> {
        if self.pages == Some(0) {
            return Err(("pages", "a session has pages: write at least 1, or leave it out".into()));
        }
        if self.objects == 0 {
            return Err(("objects", "a page has objects: write at least 1".into()));
        }
        if self.shape.is_nan() || self.shape <= 1.0 {
            return Err((
                "shape",
                format!("sizes with shape {} have no mean: write a number above 1", self.shape),
            ));
        }
        for (field, size) in [("object", self.object), ("request", self.request)] {
            if size == Bytes(0) {
                return Err((field, "it has no bytes: write for example \"350 B\"".into()));
            }
        }
        if self.largest < self.object {
            return Err(("largest", format!("the mean is {}: write at least that", self.object)));
        }
        Ok(())
    }
}

/// A session: the client, and the server that answers it.
#[derive(Clone, Debug)]
pub struct Web {
    params: Params,
    rng: Rng,
    next: Option<Time>,
    /// The client asks next, or the server answers.
    asks: bool,
    page: u32,
    object: u32,
    size: Bytes,
    begun: Option<Unit>,
}

impl Application for Web {
    type Params = Params;

    fn new(params: &Params, rng: &mut Rng) -> Web {
        let start = draw_start(params.start, params.start_within, rng);
        let (params, rng) = (params.clone(), rng.clone());
        let next = (params.pages != Some(0)).then_some(start);
        Web { params, rng, next, asks: true, page: 0, object: 0, size: Bytes(0), begun: None }
    }

    fn next_wake(&self) -> Option<Time> {
        let stop = self.params.stop.filter(|_| self.asks).map_or(Time::MAX, |stop| Time::ZERO + stop);
        self.next.filter(|next| *next < stop)
    }

    fn wake(&mut self, _: Time) -> Option<Offer> {
        self.next = None;
        if !self.asks {
            return Some(Offer::Bytes(self.size));
        }
        // Pareto: the least size is mean · (shape - 1) / shape.
        let Params { object, shape, largest, request, connections, .. } = self.params;
        let least = object.0 as f64 * (shape - 1.0) / shape;
        let size = least * libm::pow(1.0 - self.rng.uniform(), -1.0 / shape);
        self.size = Bytes((size as u64).clamp(1, largest.0));
        let (group, number) = (self.page, self.object);
        self.begun = Some(Unit { kind: UnitKind::Object, group, number, bytes: self.size, packets: 0 });
        Some(Offer::Request { size: request, connect: connections == Connections::PerObject })
    }

    fn unit(&mut self) -> Option<Unit> {
        self.begun.take()
    }

    fn arrived(&mut self, what: Arrived, now: Time) {
        self.asks = what == Arrived::Response;
        self.next = Some(now);
        if what == Arrived::Request {
            return;
        }
        self.object += 1;
        let mut wait = self.params.between_objects;
        if self.object == self.params.objects {
            (self.page, self.object) = (self.page + 1, 0);
            wait = self.params.think;
        }
        let is_over = self.params.pages.is_some_and(|pages| self.page >= pages);
        self.next = (!is_over).then(|| now + self.rng.exponential(wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of all objects of a session whose network takes no time, by page.
    fn session(params: &Params) -> (Vec<(u32, u32, u64)>, Time) {
        let mut web = Web::new(params, &mut Rng::named(1, 0, "web/app"));
        let (mut objects, mut now) = (Vec::new(), Time::ZERO);
        while let Some(time) = web.next_wake() {
            now = time;
            let offer = web.wake(now);
            assert_eq!(offer, Some(Offer::Request { size: params.request, connect: false }));
            let Some(unit) = web.unit() else { panic!("an object") };
            assert_eq!(web.next_wake(), None, "it waits for the answer");
            web.arrived(Arrived::Request, now);
            assert_eq!((web.next_wake(), web.wake(now)), (Some(now), Some(Offer::Bytes(unit.bytes))));
            web.arrived(Arrived::Response, now);
            objects.push((unit.group, unit.number, unit.bytes.0));
        }
        (objects, now)
    }

    #[test]
    fn a_session_has_its_pages_and_objects() {
        let params = Params { pages: Some(2), objects: 3, ..Params::default() };
        let places: Vec<_> = session(&params).0.into_iter().map(|(page, object, _)| (page, object)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }

    #[test]
    fn sizes_are_pareto_and_think_times_have_their_mean() {
        let params = Params { pages: Some(20_000), shape: 2.5, ..Params::default() };
        let (objects, end) = session(&params);
        let mean = objects.iter().map(|(.., size)| *size as f64).sum::<f64>() / 20_000.0;
        assert!((mean / 12_000.0 - 1.0).abs() < 0.03, "{mean}");
        // With shape a all are at least mean (a - 1) / a = 7200 B, and a share of 2^-a is above twice that.
        assert!(objects.iter().all(|(.., size)| *size >= 7_199));
        let large = objects.iter().filter(|(.., size)| *size > 14_400).count() as f64 / 20_000.0;
        assert!((large - 0.1768).abs() < 0.01, "{large}");
        assert!((end.as_secs_f64() / (15.0 * 19_999.0) - 1.0).abs() < 0.03, "{end:?}");
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let field = |params: Params| params.validate().map_err(|(field, _)| field);
        assert_eq!(field(Params { objects: 0, ..Params::default() }), Err("objects"));
        assert_eq!(field(Params { shape: 1.0, ..Params::default() }), Err("shape"));
        assert_eq!(field(Params { largest: Bytes(1), ..Params::default() }), Err("largest"));
        assert_eq!(field(Params { request: Bytes(0), ..Params::default() }), Err("request"));
    }
}
