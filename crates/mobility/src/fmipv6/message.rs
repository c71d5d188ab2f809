//! The messages of FMIPv6 and their sizes on the wire. The identification is the host's clock at what a message is
//! about; hi, hack and fback carry that of the fbu. A care-of address is named by its access router.

use roamlab_packet::Addr;

crate::messages! {
    /// Sizes of messages on the wire, IPv6 header (40 B) included. ASSUMPTION: link-layer addresses have 48
    /// bits, and options are those that the RFCs require. They are: rtsolpr 8 + 8 + 16 (ICMPv6, own and other
    /// link-layer address); prrtadv 8 + 16 + 16 + 24 + 24 (ICMPv6, two link-layer addresses, router, prefix),
    /// for one neighbour. The fbu and fback: 24 + 56 (home address or routing header; mobility header with
    /// care-of address and authorisation); hi 64 (mobility header with link-layer address and two care-of
    /// addresses). Then: hack 32; una 24 + 8; local binding update 24 + 32, its acknowledge 24 + 16.
    Sizes as sizes;

    /// Access router → all: this cell is here.
    Advertisement "ipv6-router-advertisement" size
        /// A router advertisement with a prefix and a link-layer address.
        advertisement = 96;
    /// Host → its access router: who are your neighbours?
    RtSolPr "rtsolpr" size rtsolpr = 72;
    /// The answer, or without a question: you will come there.
    PrRtAdv {
        /// The access router that the host will move to; `None`: it was solicited.
        expected: Option<Addr>,
    } "prrtadv" size prrtadv = 128;
    /// Host → PAR: tunnel my packets.
    FastBindingUpdate {
        /// Where to; the PAR itself: no more (lifetime 0).
        to: Addr,
        /// It is sent from the new link: its source is the new care-of address.
        from_new_link: bool,
    } "fbu" size fbu = 120;
    /// The answer.
    FastBindingAcknowledge "fback" size fback = 120;
    /// PAR → NAR: the host will come.
    HandoverInitiate {
        /// Keep its packets until then (flag U).
        buffer: bool,
    } "hi" size hi = 104;
    /// The answer: its care-of address is accepted.
    HandoverAcknowledge "hack" size hack = 72;
    /// Host → NAR: I am here.
    Una "una" size una = 72;
    /// Host → anchor: tunnel my packets to this access router.
    BindingUpdate {
        /// The access router.
        care_of: Addr,
    } "local-binding-update" size
        /// A local binding update.
        binding_update = 96;
    /// The answer.
    BindingAcknowledge "local-binding-acknowledge" size
        /// Its acknowledge.
        binding_acknowledge = 80;
}
