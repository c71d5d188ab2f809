//! The data that applications offer to the transport: one file per application, one row per file in the table below.

use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time, named};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

mod cbr;
pub mod dash;
pub mod ftp;
pub mod program;
pub mod requests;
pub mod video;
pub mod voip;
pub mod web;

use video::{conference, synthetic, trace};

/// Data that an application hands to its transport.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Offer {
    /// More data than will ever be sent.
    Unlimited,
    /// This many bytes of a stream, or one datagram of this size (IP header included).
    Bytes(Bytes),
    /// A request of this size, on the flow that goes the other way; on new connections both ways, or on those there are.
    Request {
        /// Its size.
        size: Bytes,
        /// True if connections are new.
        connect: bool,
    },
    /// This many full segments of a stream.
    Segments(Packets),
    /// Nothing more: what has not been sent for the first time by now never will be.
    Stop,
}

named! {
    /// Kinds of units of an application's data.
    #[derive(Copy, Clone, PartialEq, Eq, Debug)]
    pub enum UnitKind {
        /// A picture alone.
        I => "I",
        /// A picture that follows from one before.
        P => "P",
        /// A picture between two others.
        B => "B",
        /// An object of a page.
        Object => "object",
        /// A segment of a film.
        Segment => "segment",
    }
}

/// A unit of an application's data: it is of use once all of it is there.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Its kind.
    pub kind: UnitKind,
    /// Of pictures their group, from 1; of an object its page, of a segment its quality, from 0.
    pub group: u32,
    /// Its number, from 0: in the flow, of an object in its page.
    pub number: u32,
    /// Its size, without headers.
    pub bytes: Bytes,
    /// Its datagrams; 0: it is a response, whose segments TCP counts.
    pub packets: u32,
}

/// Units that have arrived at the other end as a whole.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// A request, to the server.
    Request,
    /// The requested data, to the client.
    Response,
}

/// An application: it wakes at times of its own choice and offers data.
pub trait Application: Sized {
    /// Its parameters.
    type Params;

    /// The application of one flow. `rng` is the flow's own stream.
    fn new(params: &Self::Params, rng: &mut Rng) -> Self;

    /// When it wants to wake next; `None`: never again.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// It is awake, at the time it wanted; `None` if there is nothing to offer this time.
    fn wake(&mut self, _: Time) -> Option<Offer> {
        None
    }

    /// The unit that begins with what it has just offered, if one does.
    fn unit(&mut self) -> Option<Unit> {
        None
    }

    /// It has arrived as a whole. Only the requesting side is notified, while it waits for nothing
    /// else.
    fn arrived(&mut self, _: Arrived, _: Time) {}
}

/// Parameters of an application. All have `start`, the earliest one, and `stop`.
trait Checked {
    /// The start is drawn from the span of this length behind the earliest one.
    fn start_within(&self) -> Duration;

    /// Checks what the types cannot: the field at fault, what was expected and what to write.
    fn validate(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

/// A start that is uniform in [`at`, `at + within`).
fn draw_start(at: Duration, within: Duration, rng: &mut Rng) -> Time {
    Time::ZERO + at + rng.uniform_duration(within)
}

/// A source cannot stop before it may start.
fn check_stop(start: Duration, stop: Option<Duration>) -> Result<(), (&'static str, String)> {
    if stop.is_some_and(|stop| stop < start) {
        return Err(("stop", format!("the source starts at {start}: write a later time")));
    }
    Ok(())
}

/// A number of packets, if there is one, is not 0.
fn check_packets(packets: Option<Packets>) -> Result<(), (&'static str, String)> {
    if packets == Some(Packets(0)) {
        return Err(("packets", "a source sends something: write for example \"100 pkt\"".into()));
    }
    Ok(())
}

macro_rules! applications {
    ($($(#[$doc:meta])* $name:literal => $module:ident::$type:ident,)+) => {
        /// An application of a scenario.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum AppSpec {
            $($(#[$doc])* #[serde(rename = $name)] $type($module::Params),)+
        }

        impl Family for AppSpec {
            const WHAT: &'static str = "an application";
            const EXAMPLE: &'static str = "{ kind = \"ftp\", start = \"0.1 s\" }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $module::Params::deserialize(fields).map(AppSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        /// A running application. Boxed: most flows have a small one, and some are large.
        #[derive(Clone, Debug)]
        pub enum App {
            $($(#[$doc])* $type(Box<$module::$type>),)+
        }

        impl App {
            /// Names and one-line summaries of all applications.
            pub const ALL: &'static [(&'static str, &'static str)] = &[$(($name, $module::SUMMARY),)+];

            /// Starts an application.
            pub fn new(spec: &AppSpec, rng: &mut Rng) -> App {
                match spec {
                    $(AppSpec::$type(params) => App::$type(Box::new($module::$type::new(params, rng))),)+
                }
            }

            /// When it wants to wake next.
            pub fn next_wake(&self) -> Option<Time> {
                match self {
                    $(App::$type(app) => app.next_wake(),)+
                }
            }

            /// It is awake, at the time it wanted.
            pub fn wake(&mut self, now: Time) -> Option<Offer> {
                match self {
                    $(App::$type(app) => app.wake(now),)+
                }
            }

            /// The unit that begins with what it has just offered, if one does.
            pub fn unit(&mut self) -> Option<Unit> {
                match self {
                    $(App::$type(app) => app.unit(),)+
                }
            }

            /// It has arrived as a whole.
            pub fn arrived(&mut self, what: Arrived, now: Time) {
                match self {
                    $(App::$type(app) => app.arrived(what, now),)+
                }
            }
        }

        impl AppSpec {
            /// The earliest start.
            pub fn start(&self) -> Duration {
                match self {
                    $(AppSpec::$type(params) => params.start,)+
                }
            }

            /// The end of the span that the start is drawn from.
            pub fn latest_start(&self) -> Duration {
                match self {
                    $(AppSpec::$type(params) => params.start + params.start_within(),)+
                }
            }

            /// Everything later by so much.
            pub fn delay(&mut self, by: Duration) {
                let (start, stop) = match self {
                    $(AppSpec::$type(params) => (&mut params.start, &mut params.stop),)+
                };
                *start += by;
                *stop = stop.map(|stop| stop + by);
            }

            /// Its stop, if it has one.
            pub fn stop(&self) -> Option<Duration> {
                match self {
                    $(AppSpec::$type(params) => params.stop,)+
                }
            }

            /// The latest time at which it offers data, if its fields give it: its stop, or the last datagram of a stream.
            pub fn last_offer(&self) -> Option<Duration> {
                let counted = match self {
                    AppSpec::Cbr(params) => params.last_datagram(),
                    _ => None,
                };
                counted.into_iter().chain(self.stop()).min()
            }

            /// Checks what the types cannot: the field at fault, what was expected and what to write.
            pub fn validate(&self) -> Result<(), (&'static str, String)> {
                match self {
                    $(AppSpec::$type(params) => params.validate()?,)+
                }
                check_stop(self.start(), self.stop())
            }
        }
    };
}

applications! {
    /// File transfer.
    "ftp" => ftp::Ftp,
    /// Constant bit rate.
    "cbr" => cbr::Cbr,
    /// Voice.
    "voip" => voip::Voip,
    /// A film.
    "video" => synthetic::Video,
    /// A recorded film.
    "video-trace" => trace::Recorded,
    /// A video conference.
    "conference" => conference::Conference,
    /// Web browsing.
    "web" => web::Web,
    /// Adaptive video.
    "dash" => dash::Dash,
    /// Requests of web and dash flows.
    "requests" => requests::Requests,
    /// A program in real time.
    "program" => program::Program,
}

impl<'de> Deserialize<'de> for AppSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl AppSpec {
    /// True if it asks for its data, by a flow in the other direction.
    pub fn asks(&self) -> bool {
        matches!(self, AppSpec::Web(_) | AppSpec::Dash(_))
    }

    /// True if it is a stream of datagrams that TCP has no use for.
    pub fn is_datagrams(&self) -> bool {
        matches!(
            self,
            AppSpec::Video(_) | AppSpec::Recorded(_) | AppSpec::Conference(_) | AppSpec::Program(_)
        )
    }

    /// Bits a second on the wire, headers included, and bits of a packet, if it has its own.
    pub fn load(&self) -> Option<(f64, f64)> {
        let steady = |interval: Duration, packet: Bytes| {
            let bits = 8.0 * packet.0 as f64;
            (bits / interval.as_secs_f64(), bits)
        };
        match self {
            AppSpec::Ftp(_) | AppSpec::Web(_) | AppSpec::Dash(_) | AppSpec::Requests(_) => None,
            AppSpec::Program(_) => Some((f64::INFINITY, 8.0 * 1500.0)), // the most that its card carries
            AppSpec::Cbr(params) => Some((params.rate.as_bps() as f64, 8.0 * params.packet.0 as f64)),
            AppSpec::Voip(params) => {
                let (interval, packet) = params.packet();
                let (rate, bits) = steady(interval, packet);
                Some((params.activity() * rate, bits))
            }
            AppSpec::Video(params) => {
                let statistics = params.encoding.statistics();
                Some(params.packets.load(statistics.mean, statistics.frames as f64 / 3600.0))
            }
            AppSpec::Recorded(params) => {
                let (mean, rate) = params.file.content()?.mean();
                Some(params.packets.load(mean, rate))
            }
            AppSpec::Conference(params) => {
                let frame = params.rate.as_bps() as f64 / 8.0 / params.frame_rate;
                Some(params.packets.load(frame, params.frame_rate))
            }
        }
    }
}
