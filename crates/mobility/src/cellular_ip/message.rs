//! The messages of Cellular IP and their sizes on the wire.

crate::messages! {
    /// Sizes of messages on the wire, headers included. ASSUMPTION: the papers give none; an IP header and 20 to 28 bytes.
    Sizes as sizes;

    /// Base station → all: this cell is here.
    BaseStationBeacon "base-station-beacon"
        size
        /// A beacon of a base station or of the gateway.
        beacon = 24;
    /// Gateway → all nodes, each to the next: the route to me is where this comes from. Its identification is its number.
    GatewayBeacon "gateway-beacon" total sizes.beacon.0;
    /// Mobile host → base station → … → gateway: packets for me this way.
    RouteUpdate {
        /// Flag S: this way too.
        semisoft: bool,
    } "route-update" size
        /// A route update.
        route_update = 48;
    /// The same of an idle host, for paging caches.
    PagingUpdate "paging-update" size
        /// A paging update.
        paging_update = 48;
    /// Old → new base station: send a semisoft route update for this host.
    SemisoftTrigger "semisoft-trigger" size
        /// A semisoft trigger.
        trigger = 48;
}
