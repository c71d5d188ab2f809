//! The ECN field of what is not new data: SYN, SYN/ACK, ACKs, and what is sent again.
//!
//! By RFC 3168 (§6.1.1, §6.1.4, §6.1.5) none of them is ECN-capable. A queue that marks data early then drops them early.

use crate::params::{Profile, TcpParams};
use roamlab_packet::Ecn;

/// The ECN field of what is not new data, at either end.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct ControlPackets {
    /// Of a SYN and of a SYN/ACK.
    pub syn: Ecn,
    /// Of the others, once ECN is agreed on.
    pub others: Ecn,
}

impl ControlPackets {
    /// DCTCP's SYN and SYN/ACK are ECN-capable (RFC 8257 §3.6 SHOULD), or all segments of a congestion control that needs ECN.
    pub fn of(params: &TcpParams) -> ControlPackets {
        let control = params.congestion_control.properties();
        let capable = if control.needs_accecn { Ecn::Ect1 } else { Ecn::Ect0 };
        let if_capable = |is: bool| if is { capable } else { Ecn::NotEct };
        let all = params.all_are_ecn_capable() && control.needs_ecn;
        let is_dctcp = control.needs_ecn && !control.needs_accecn;
        let by_rfc = params.profile == Profile::Rfc && is_dctcp;
        ControlPackets { syn: if_capable(all || by_rfc), others: if_capable(all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TcpSpec, Variant};

    #[test]
    fn a_syn_is_ecn_capable_with_dctcp_and_all_segments_are_in_linux() {
        let of = |profile, variant| {
            let spec = TcpSpec { variant: Some(variant), ..TcpSpec::default() };
            let found = ControlPackets::of(&spec.resolve(profile).unwrap());
            (found.syn, found.others)
        };
        assert_eq!(of(Profile::Rfc, Variant::Dctcp), (Ecn::Ect0, Ecn::NotEct));
        assert_eq!(of(Profile::Linux6, Variant::Dctcp), (Ecn::Ect0, Ecn::Ect0));
        assert_eq!(of(Profile::Linux6, Variant::Prague), (Ecn::Ect1, Ecn::Ect1));
        assert_eq!(of(Profile::Rfc, Variant::Prague), (Ecn::NotEct, Ecn::NotEct));
        assert_eq!(of(Profile::Linux6, Variant::Cubic), (Ecn::NotEct, Ecn::NotEct));
        assert_eq!(of(Profile::Ns2_2009, Variant::Dctcp), (Ecn::NotEct, Ecn::NotEct));
    }
}
