//! Logs of quinn, for tests of the reader of qlogs.

use crate::time::instant;
use quinn_proto::{QlogConfig, QlogStream};
use roamlab_engine::Time;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// The log of an end: `client.sqlog` or `server.sqlog` in the folder that `ROAMLAB_QLOG` names; none without it.
#[expect(clippy::disallowed_methods, reason = "the feature is for tests alone; a run does not depend on it")]
pub(crate) fn stream(is_client: bool) -> Option<QlogStream> {
    let name = if is_client { "client.sqlog" } else { "server.sqlog" };
    let path = PathBuf::from(std::env::var_os("ROAMLAB_QLOG")?).join(name);
    let mut config = QlogConfig::default();
    config.writer(Box::new(BufWriter::new(File::create(path).ok()?)));
    config.start_time(instant(Time::ZERO));
    config.into_stream()
}
