//! Frames of 802.11 that are no data, and the messages of base stations among each other and with their server: their kinds,
//! names and sizes, and the answers of a base station.

use super::params::{ManagementSizes, Wifi};
use super::security::{Authentication, Security};
use super::transition::OnTransition;
use roamlab_engine::Bytes;

/// A management frame, or a frame or message with keys.
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
    /// First frame of the authentication of fast transition (802.11r): with the key's name.
    FastAuthenticationRequest,
    /// Second frame of it.
    FastAuthenticationResponse,
    /// Its reassociation request: with the proof of the key.
    FastReassociationRequest,
    /// Its reassociation response: with the group's key.
    FastReassociationResponse,
    /// A request of EAP.
    EapRequest,
    /// The response to it.
    EapResponse,
    /// The four messages of the four-way handshake.
    KeyMessage1,
    /// The second one, of the station.
    KeyMessage2,
    /// The third one.
    KeyMessage3,
    /// The fourth one, of the station.
    KeyMessage4,
    /// A station asks for the neighbours of its base station (802.11k).
    NeighbourReportRequest,
    /// The channels of the neighbours.
    NeighbourReportResponse,
    /// Of a base station to the authentication server: a response of EAP.
    RadiusRequest,
    /// The server's answer: the next request of EAP, or the key.
    RadiusAnswer,
    /// Of a base station to the one that holds a host's first key of fast transition.
    KeyRequest,
    /// The key for that base station.
    KeyAnswer,
    /// A host listens on other channels: a data frame without data, with the bit of power management.
    PowerSave,
    /// It is back: the same without the bit.
    Awake,
    /// A base station asks a host to go to another cell (802.11v).
    TransitionRequest,
    /// The host does, or does not.
    TransitionResponse,
    /// A base station has ended an association.
    Disassociation,
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
        "fast-authentication-request",
        "fast-authentication-response",
        "fast-reassociation-request",
        "fast-reassociation-response",
        "eap-request",
        "eap-response",
        "key-message-1",
        "key-message-2",
        "key-message-3",
        "key-message-4",
        "neighbour-report-request",
        "neighbour-report-response",
        "radius-request",
        "radius-answer",
        "key-request",
        "key-answer",
        "power-save",
        "awake",
        "transition-request",
        "transition-response",
        "disassociation",
    ];

    /// The names of those that are sent with these parameters.
    pub fn names_with(wifi: &Wifi) -> impl Iterator<Item = &'static str> {
        let Security { kind, fast_transition, .. } = wifi.security;
        let (keys, eap) = (wifi.security.has_keys(), kind == Authentication::Eap);
        let reports = wifi.neighbour_reports;
        let asks = !wifi.transitions.is_empty();
        let scans = wifi.background_scan.is_some() || asks && wifi.on_transition == OnTransition::Follow;
        let disassociates = wifi.transitions.iter().any(|each| each.disassociates_after.is_some());
        Management::NAMES.iter().copied().filter(move |name| match *name {
            name if name.starts_with("fast-") => fast_transition,
            "key-request" | "key-answer" => fast_transition,
            name if name.starts_with("key-message-") => keys,
            name if name.starts_with("eap-") || name.starts_with("radius-") => eap,
            name if name.starts_with("neighbour-") => reports,
            "power-save" | "awake" => scans,
            name if name.starts_with("transition-") => asks,
            "disassociation" => disassociates,
            _ => true,
        })
    }

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
            Management::NullData | Management::PowerSave | Management::Awake => sizes.null_data,
            Management::FastAuthenticationRequest | Management::FastAuthenticationResponse => {
                sizes.fast_authentication
            }
            Management::FastReassociationRequest | Management::FastReassociationResponse => {
                sizes.fast_reassociation
            }
            Management::EapRequest | Management::EapResponse => sizes.eap,
            Management::KeyMessage1 => sizes.key_message_1,
            Management::KeyMessage2 => sizes.key_message_2,
            Management::KeyMessage3 => sizes.key_message_3,
            Management::KeyMessage4 => sizes.key_message_4,
            Management::NeighbourReportRequest => sizes.neighbour_report_request,
            Management::NeighbourReportResponse => sizes.neighbour_report_response,
            Management::RadiusRequest | Management::RadiusAnswer => sizes.radius,
            Management::KeyRequest | Management::KeyAnswer => sizes.key_request,
            Management::TransitionRequest => sizes.transition_request,
            Management::TransitionResponse => sizes.transition_response,
            Management::Disassociation => sizes.disassociation,
        }
    }

    /// Answer of a base station; `None`: none.
    pub const fn answer(self) -> Option<Management> {
        match self {
            Management::ProbeRequest => Some(Management::ProbeResponse),
            Management::AuthenticationRequest => Some(Management::AuthenticationResponse),
            Management::AssociationRequest => Some(Management::AssociationResponse),
            Management::ReassociationRequest => Some(Management::ReassociationResponse),
            Management::FastReassociationRequest => Some(Management::FastReassociationResponse),
            Management::NeighbourReportRequest => Some(Management::NeighbourReportResponse),
            _ => None,
        }
    }
}
