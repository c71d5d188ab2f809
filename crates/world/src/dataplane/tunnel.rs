//! IP-in-IP tunnels (RFC 2003): one outer header. The code point is copied at entry and exit, and the ECN field follows
//! RFC 6040.

use crate::context::Context;
use roamlab_engine::Bytes;
use roamlab_packet::{Addr, Ecn, IpHeader, PacketId};
use roamlab_record::Stop;
use roamlab_record::ids::Location;
use roamlab_scenario::TunnelEcn;

/// The outer ECN field at the entry of a tunnel.
fn outer_ecn(mode: TunnelEcn, inner: Ecn) -> Ecn {
    match (mode, inner) {
        (TunnelEcn::Compatibility, _) => Ecn::NotEct,
        (TunnelEcn::AlwaysEct, Ecn::NotEct) => Ecn::Ect0,
        (TunnelEcn::Normal | TunnelEcn::AlwaysEct, inner) => inner,
    }
}

/// The inner ECN field at the exit of a tunnel (`None`: the packet is dropped), and whether the combination is one that
/// no correct path produces and that is logged (RFC 6040 §4.2, figure 4).
fn inner_ecn(mode: TunnelEcn, inner: Ecn, outer: Ecn) -> (Option<Ecn>, bool) {
    match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => (None, mode != TunnelEcn::AlwaysEct),
        (Ecn::NotEct, Ecn::Ect0) => (Some(Ecn::NotEct), mode != TunnelEcn::AlwaysEct),
        (Ecn::NotEct, Ecn::Ect1) => (Some(Ecn::NotEct), true),
        (Ecn::Ect1, Ecn::Ect0) => (Some(Ecn::Ect1), true),
        (Ecn::Ce, Ecn::Ect1) => (Some(Ecn::Ce), true),
        (Ecn::Ect0, Ecn::Ect1) => (Some(Ecn::Ect1), false),
        (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => (Some(Ecn::Ce), false),
        (inner, _) => (Some(inner), false),
    }
}

/// Puts the packet into a tunnel; gives it back as the error if it is in too many tunnels already.
///
/// The code point of the header inside is copied outwards (RFC 2983 §4, uniform model).
pub fn encap(
    packet: PacketId,
    (src, dst): (Addr, Addr),
    (overhead, ecn): (Bytes, TunnelEcn),
    place: Location,
    cx: &mut Context,
) -> Result<PacketId, PacketId> {
    let inner = cx.pool[&packet].header.tos;
    let tos = inner.with_ecn(outer_ecn(ecn, inner.ecn()));
    let outer = IpHeader { overhead: overhead.0 as u16, ..IpHeader::new(src, dst, tos) };
    if !cx.pool.encapsulate(&packet, outer) {
        return Err(packet);
    }
    cx.trace(&packet, Stop::TunnelEncap, place);
    Ok(packet)
}

/// State of a packet at the node that its outermost header is addressed to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It is in no tunnel.
    Bare,
    /// It left a tunnel.
    Left,
    /// It left a tunnel on whose way congestion was marked, and its receiver would not see the mark.
    Congested,
}

/// Takes the packet out of its outermost tunnel, if it is in one. The code point is copied inwards, so a mark set on
/// the way survives.
pub fn decap(packet: &PacketId, ecn: TunnelEcn, place: Location, cx: &mut Context) -> Exit {
    let Some(outer) = cx.pool.decapsulate(packet) else { return Exit::Bare };
    let header = &mut cx.pool[packet].header;
    let (left, odd) = inner_ecn(ecn, header.tos.ecn(), outer.tos.ecn());
    header.tos = outer.tos.with_ecn(left.unwrap_or(Ecn::NotEct));
    cx.probes.odd_ecn += u64::from(odd);
    cx.trace_with(packet, Stop::TunnelDecap, place, if odd { "odd-ecn" } else { "" });
    if left.is_some() { Exit::Left } else { Exit::Congested }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::Time;
    use roamlab_packet::{Dscp, Ecn, FlowId, Packet, Tos, UdpHeader};
    use roamlab_record::ids::NodeId;

    const HERE: Location = Location::Node(NodeId(0));
    const IP_IN_IP: (Bytes, TunnelEcn) = (Bytes(20), TunnelEcn::Normal);
    const ENDS: (Addr, Addr) = (Addr::new(3, 0), Addr::new(4, 0));

    fn packet(tos: Tos, cx: &mut Context) -> PacketId {
        let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), tos);
        cx.pool.create(Packet::make(FlowId(0), inner, Bytes(512), Time::ZERO, UdpHeader::default()))
    }

    #[test]
    fn the_type_of_service_is_copied_outwards_and_inwards() {
        let mut cx = Context::default();
        let marked = Tos::default().with_dscp(Dscp::FORWARDED).with_ecn(Ecn::Ect0);
        let packet = encap(packet(marked, &mut cx), ENDS, IP_IN_IP, HERE, &mut cx).unwrap();
        assert_eq!((cx.pool[&packet].header.tos, cx.pool[&packet].wire_size()), (marked, Bytes(532)));
        let congested = Tos::default().with_ecn(Ecn::Ce);
        cx.pool[&packet].header.tos = congested;
        assert_eq!(cx.pool[&packet].inner_tos(), marked, "on the way only the outer header changes");
        assert_eq!(
            cx.pool[&packet].header,
            IpHeader { overhead: 20, ..IpHeader::new(ENDS.0, ENDS.1, congested) }
        );
        assert_eq!(decap(&packet, TunnelEcn::Normal, HERE, &mut cx), Exit::Left);
        assert_eq!(cx.pool[&packet].inner_tos(), congested, "the way's marks, set or cleared, survive");
        assert_eq!(decap(&packet, TunnelEcn::Normal, HERE, &mut cx), Exit::Bare);
    }

    #[test]
    fn a_packet_in_too_many_tunnels_comes_back() {
        let mut cx = Context::default();
        let mut packet = packet(Tos::default(), &mut cx);
        let mut depth = 0;
        packet = loop {
            match encap(packet, ENDS, IP_IN_IP, HERE, &mut cx) {
                Ok(deeper) => packet = deeper,
                Err(refused) => break refused,
            }
            depth += 1;
        };
        assert_eq!((depth, cx.pool[&packet].wire_size()), (3, Bytes(512 + 60)));
    }

    const MODES: [TunnelEcn; 3] = [TunnelEcn::Normal, TunnelEcn::Compatibility, TunnelEcn::AlwaysEct];

    /// Not-ECT, ECT(0), ECT(1), CE: the rows and columns of RFC 6040's figure 4.
    const FIELDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

    /// RFC 6040, figure 4, with its exclamation marks as `!`: rows are inner fields, columns outer ones.
    const FIGURE_4: [[&str; 4]; 4] = [
        ["Not-ECT", "Not-ECT!", "Not-ECT!", "drop!"],
        ["ECT(0)", "ECT(0)", "ECT(1)", "CE"],
        ["ECT(1)", "ECT(1)!", "ECT(1)", "CE"],
        ["CE", "CE", "CE!", "CE"],
    ];

    fn name(field: Ecn) -> &'static str {
        match field {
            Ecn::NotEct => "Not-ECT",
            Ecn::Ect0 => "ECT(0)",
            Ecn::Ect1 => "ECT(1)",
            Ecn::Ce => "CE",
        }
    }

    /// Appearance of a packet behind a tunnel's exit: its inner field, or its loss, and `!` if that was
    /// counted.
    fn behind(mode: TunnelEcn, inner: Ecn, outer: Ecn) -> String {
        let mut cx = Context::default();
        let packet = packet(Tos::default().with_ecn(inner), &mut cx);
        let packet = encap(packet, ENDS, (Bytes(20), mode), HERE, &mut cx).unwrap();
        let header = &mut cx.pool[&packet].header;
        header.tos = header.tos.with_ecn(outer);
        let exit = decap(&packet, mode, HERE, &mut cx);
        let left = if exit == Exit::Congested { "drop" } else { name(cx.pool[&packet].inner_tos().ecn()) };
        format!("{left}{}", if cx.probes.odd_ecn > 0 { "!" } else { "" })
    }

    #[test]
    fn the_exit_is_that_of_rfc_6040_in_every_mode() {
        for mode in MODES {
            for (row, inner) in FIELDS.into_iter().enumerate() {
                for (column, outer) in FIELDS.into_iter().enumerate() {
                    let mut expected = FIGURE_4[row][column].to_owned();
                    if mode == TunnelEcn::AlwaysEct && row == 0 && [1, 3].contains(&column) {
                        // This mode's own entry sends Not-ECT out as ECT(0), and queues mark that.
                        expected.retain(|letter| letter != '!');
                    }
                    assert_eq!(behind(mode, inner, outer), expected, "{mode:?}: {inner:?} in {outer:?}");
                }
            }
        }
    }

    #[test]
    fn every_odd_combination_is_counted() {
        let mut cx = Context::default();
        for count in 1..=3 {
            let packet = packet(Tos::default(), &mut cx);
            let packet = encap(packet, ENDS, IP_IN_IP, HERE, &mut cx).unwrap();
            cx.pool[&packet].header.tos = Tos::default().with_ecn(Ecn::Ect1);
            assert_eq!(decap(&packet, TunnelEcn::Normal, HERE, &mut cx), Exit::Left);
            assert_eq!(cx.probes.odd_ecn, count);
        }
    }

    #[test]
    fn the_entry_is_that_of_the_mode() {
        let outer = |mode: TunnelEcn| FIELDS.map(|inner| name(outer_ecn(mode, inner)));
        assert_eq!(outer(TunnelEcn::Normal), ["Not-ECT", "ECT(0)", "ECT(1)", "CE"]);
        assert_eq!(outer(TunnelEcn::Compatibility), ["Not-ECT"; 4]);
        assert_eq!(outer(TunnelEcn::AlwaysEct), ["ECT(0)", "ECT(0)", "ECT(1)", "CE"]);
    }

    #[test]
    fn an_undisturbed_tunnel_changes_no_field_and_logs_nothing() {
        for mode in MODES {
            for inner in FIELDS {
                assert_eq!(behind(mode, inner, outer_ecn(mode, inner)), name(inner), "{mode:?}");
            }
        }
    }
}
