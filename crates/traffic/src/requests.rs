//! The requests of a session: the client of a web or dash flow sends them in the other direction. The reader of a
//! scenario makes such a flow for each of those. It offers the requests of its session and nothing else.

use crate::{Application, Checked};
use roamlab_engine::{Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line for `roamlab list`.
pub const SUMMARY: &str = "the requests of a web or dash flow, which bring it with them";

/// Parameters of the requests.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The flow that answers them.
    pub of: String,
    /// When the first one may come.
    #[serde(default)]
    pub start: Duration,
    /// When the last one may come.
    #[serde(default)]
    pub stop: Option<Duration>,
}

impl Checked for Params {
    fn start_within(&self) -> Duration {
        Duration::ZERO
    }
}

/// Requests.
#[derive(Clone, Debug)]
pub struct Requests;

impl Application for Requests {
    type Params = Params;

    fn new(_: &Params, _: &mut Rng) -> Requests {
        Requests
    }
}
