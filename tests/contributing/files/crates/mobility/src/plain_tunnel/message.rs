//! The two messages.

use roamlab_packet::Addr;

crate::messages! {
    /// Sizes of messages on the wire, headers included.
    Sizes as sizes;

    /// Host to gateway: I am here.
    Update {
        /// Where it is.
        base_station: Addr,
    } "location-update" size
        /// Of `location-update`.
        update = 48;
    /// Gateway to host: I know.
    Acknowledge "location-acknowledge" size
        /// Of `location-acknowledge`.
        acknowledge = 40;
}
