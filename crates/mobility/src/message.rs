//! A signalling message as the world sees it.

use crate::Signal;
use crate::spec::Content;
use roamlab_engine::Bytes;
use roamlab_packet::Addr;

/// A signalling message: what the world knows of it, and inside what its protocol does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    name: &'static str,
    host: Option<Addr>,
    size: Bytes,
    in_band: bool,
    content: Content,
}

impl Message {
    pub(crate) fn new<S: Signal>(
        signal: S,
        params: &S::Params,
        content: impl FnOnce(S) -> Content,
    ) -> Message {
        Message {
            name: signal.name(),
            host: signal.host(),
            size: signal.size(params),
            in_band: signal.in_band(),
            content: content(signal),
        }
    }

    /// The name as it stands in records and tables.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The home address of the mobile host that the message is about; `None`: about none in particular.
    pub const fn host(&self) -> Option<Addr> {
        self.host
    }

    /// Bytes on the wire, IP header included.
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// Whether it travels with data, in their queues, and overtakes none.
    pub const fn in_band(&self) -> bool {
        self.in_band
    }

    pub(crate) fn into_content(self) -> Content {
        self.content
    }
}
