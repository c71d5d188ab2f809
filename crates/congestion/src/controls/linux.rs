//! Which congestion controls have another law in Linux.

use crate::CongestionControlSpec;

impl CongestionControlSpec {
    /// The same by the law of Linux, if it has one there.
    pub fn as_in_linux(mut self) -> CongestionControlSpec {
        match &mut self {
            CongestionControlSpec::Cubic(params) => params.as_linux = true,
            CongestionControlSpec::Reno(params) => params.as_linux = true,
            CongestionControlSpec::Bbr(params) => params.as_linux = true,
            CongestionControlSpec::Dctcp(params) => params.as_linux = true,
            CongestionControlSpec::Vegas(params) => params.set_linux(),
            _ => {}
        }
        self
    }
}
