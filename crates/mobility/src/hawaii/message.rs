//! The messages of HAWAII and their sizes on the wire. The identification is that of the registration, which the host's
//! clock orders. Each node follows the later one.

use crate::Identification;
use roamlab_packet::Addr;

/// The base stations between which a path is set up.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// Where the host is.
    pub new: Addr,
    /// Where it was.
    pub old: Addr,
}

crate::messages! {
    /// Sizes of messages on the wire, headers included. ASSUMPTION: the registration is that of Mobile IP
    /// with an authentication extension of 22 B, a previous base station an extension of 30 B (as in RFC 5944
    /// and the draft on route optimisation). The others have an IP header and 20 to 28 bytes.
    // The switch sweeps forwarded packets before it.
    Sizes as sizes, in band: Switch;

    /// Base station → all: this cell is here.
    Beacon "foreign-agent-beacon" size
        /// A beacon.
        beacon = 24;
    /// Mobile host → its base station: I am here, or still here.
    Registration {
        /// Base stations that may still have a route to it.
        previous: Vec<Addr>,
    } "registration" size
        /// A registration.
        registration = 74
        and
        /// A previous base station in a registration.
        previous = 30
        total sizes.registration.0 + sizes.previous.0 * previous.len() as u64;
    /// Base station → mobile host: the route to you is set up.
    RegistrationAcknowledge "registration-acknowledge" size
        /// The answer to a registration.
        reply = 70;
    /// Node → the next one towards the gateway: the host is new here.
    PowerUp {
        /// Its base station.
        new: Addr,
    } "path-power-up" size
        /// A path set-up message: power-up, update, switch, and a refresh of one host.
        path_setup = 48;
    /// Node → the next one on the way between two base stations, or new base station → old one: the host has moved.
    Update {
        /// Between these.
        ends: Ends,
    } "path-update" total sizes.path_setup.0;
    /// Node → the next one on the way from the new base station to the old one, and back: the path is set up.
    Switch {
        /// Between these.
        ends: Ends,
        /// It has been at the old base station.
        returns: bool,
    } "path-switch" total sizes.path_setup.0;
    /// Node → the next one towards the gateway: these hosts are still here.
    Refresh {
        /// Hosts, and their last registrations.
        hosts: Vec<(Addr, Identification)>,
    } "path-refresh" size
        /// Each further host of a refresh.
        refreshed_host = 12
        total sizes.path_setup.0 + sizes.refreshed_host.0 * (hosts.len() as u64).saturating_sub(1);
    /// Old base station or gateway → new base station: the path is set up.
    PathAcknowledge "path-acknowledge" size
        /// An acknowledge of a path.
        acknowledge = 40;
}
