//! Management frames of 802.11: their kinds, names and sizes, and the answers of a base station.

use super::params::ManagementSizes;
use roamlab_engine::Bytes;

/// A management frame.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Management {
    /// Who is there?
    ProbeRequest,
    /// A base station is.
    ProbeResponse,
    /// First frame of open system authentication.
    AuthenticationRequest,
    /// Second frame of it.
    AuthenticationResponse,
    /// A station that had no base station wants to have this one.
    AssociationRequest,
    /// It has.
    AssociationResponse,
    /// A station that had a base station wants to have this one.
    ReassociationRequest,
    /// It has.
    ReassociationResponse,
    /// A base station does not know the station.
    Deauthentication,
    /// A station is there still: a data frame without data.
    NullData,
}

impl Management {
    /// All names, as written in records and faults.
    pub const NAMES: &'static [&'static str] = &[
        "probe-request",
        "probe-response",
        "authentication-request",
        "authentication-response",
        "association-request",
        "association-response",
        "reassociation-request",
        "reassociation-response",
        "deauthentication",
        "null-data",
    ];

    /// The name as written in records and faults.
    pub const fn name(self) -> &'static str {
        Management::NAMES[self as usize]
    }

    /// From the MAC header to the check sequence.
    pub const fn size(self, sizes: &ManagementSizes) -> Bytes {
        match self {
            Management::ProbeRequest => sizes.probe_request,
            Management::ProbeResponse => sizes.probe_response,
            Management::AuthenticationRequest | Management::AuthenticationResponse => sizes.authentication,
            Management::AssociationRequest => sizes.association_request,
            Management::ReassociationRequest => sizes.reassociation_request,
            Management::AssociationResponse | Management::ReassociationResponse => sizes.association_response,
            Management::Deauthentication => sizes.deauthentication,
            Management::NullData => sizes.null_data,
        }
    }

    /// Answer of a base station; `None`: none.
    pub const fn answer(self) -> Option<Management> {
        match self {
            Management::ProbeRequest => Some(Management::ProbeResponse),
            Management::AuthenticationRequest => Some(Management::AuthenticationResponse),
            Management::AssociationRequest => Some(Management::AssociationResponse),
            Management::ReassociationRequest => Some(Management::ReassociationResponse),
            _ => None,
        }
    }
}
