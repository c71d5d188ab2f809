//! The message charts, undisturbed: sender, recipient, message and time.

use super::lab::{HARD, Lab, MS, SOFT, TURNS};

/// Messages about the host around its handover: sent this number of ms after it turned to its new cell,
/// rounded down.
fn said(mobility: &str, radio: &str) -> Vec<String> {
    let record = Lab::with(mobility, radio).run();
    let around = record.signals.iter().filter(|signal| {
        (TURNS - 150 * MS..TURNS + 250 * MS).contains(&signal.sent) && !signal.host.is_empty()
    });
    around
        .map(|signal| {
            let at = (signal.sent as i64 - TURNS as i64).div_euclid(MS as i64);
            format!("{at} {} {}>{}", signal.message, signal.source, signal.destination)
        })
        .collect()
}

#[test]
fn mandm_with_a_source_trigger_and_a_buffer() {
    let chart = said("kind = \"mandm\"\ntrigger = { by = \"source\" }", HARD);
    assert_eq!(
        chart,
        [
            "-100 trigger bs1>bs2",
            "-88 join bs2>ar2",
            "-87 join ar2>r1",
            "-82 join-acknowledge r1>ar2",
            "-77 join-acknowledge ar2>bs2",
            "100 attach mh>bs2",
            "103 attach-acknowledge bs2>mh",
            "103 moved bs2>bs1",
            "115 prune bs1>ar1",
            "116 prune ar1>r1",
        ]
    );
}

#[test]
fn mandm_with_bicast() {
    let chart = said("kind = \"mandm\"\nredundancy = { bicast = \"100 ms\" }", SOFT);
    assert_eq!(
        chart,
        [
            "0 attach mh>bs2",
            "3 join bs2>ar2",
            "3 attach-acknowledge bs2>mh",
            "4 join ar2>r1",
            "9 join-acknowledge r1>ar2",
            "14 join-acknowledge ar2>bs2",
            "15 moved bs2>bs1",
            "127 prune bs1>ar1",
            "128 prune ar1>r1",
        ]
    );
}

#[test]
fn cellular_ip_with_semisoft_handoff() {
    let chart = said("kind = \"cellular-ip\"\nhandoff = \"semisoft\"", SOFT);
    assert_eq!(
        chart,
        [
            "0 route-update mh>bs2",
            "3 route-update bs2>ar2",
            "4 route-update ar2>r1",
            "9 route-update r1>gw",
            "100 route-update mh>bs2",
            "103 route-update bs2>ar2",
            "104 route-update ar2>r1",
            "109 route-update r1>gw",
        ]
    );
}

#[test]
fn cellular_ip_with_hard_handoff() {
    let chart = said("kind = \"cellular-ip\"", HARD);
    assert_eq!(
        chart,
        [
            "100 route-update mh>bs2",
            "103 route-update bs2>ar2",
            "104 route-update ar2>r1",
            "109 route-update r1>gw",
        ]
    );
}

#[test]
fn hawaii_with_non_forwarding() {
    for scheme in ["unf", "mnf"] {
        let chart = said(&format!("kind = \"hawaii\"\nscheme = \"{scheme}\""), HARD);
        assert_eq!(
            chart,
            [
                "100 registration mh>bs2",
                "103 path-update bs2>ar2",
                "104 path-update ar2>r1",
                "109 path-update r1>ar1",
                "114 path-update ar1>bs1",
                "115 path-acknowledge bs1>bs2",
                "127 registration-acknowledge bs2>mh",
            ]
        );
    }
}

#[test]
fn hawaii_with_multiple_stream_forwarding() {
    let chart = said("kind = \"hawaii\"\nscheme = \"msf\"", HARD);
    assert_eq!(
        chart,
        [
            "100 registration mh>bs2",
            "103 path-update bs2>bs1",
            "115 path-update bs1>ar1",
            "116 path-update ar1>r1",
            "121 path-update r1>ar2",
            "126 path-update ar2>bs2",
            "127 registration-acknowledge bs2>mh",
        ]
    );
}

#[test]
fn hawaii_with_single_stream_forwarding() {
    let chart = said("kind = \"hawaii\"\nscheme = \"ssf\"", HARD);
    assert_eq!(
        chart,
        [
            "100 registration mh>bs2",
            "103 path-update bs2>bs1",
            "115 path-update bs1>ar1",
            "116 path-update ar1>r1",
            "121 path-update r1>ar2",
            "126 path-update ar2>bs2",
            "127 path-switch bs2>ar2",
            "127 registration-acknowledge bs2>mh",
            "128 path-switch ar2>r1",
            "133 path-switch r1>ar1",
            "138 path-switch ar1>bs1",
            "139 path-switch bs1>ar1",
            "140 path-switch ar1>r1",
            "145 path-switch r1>ar2",
            "151 path-switch ar2>bs2",
        ]
    );
}

#[test]
fn fmipv6_predictive() {
    let chart = said("kind = \"fmipv6\"\ntrigger = { by = \"source\" }", HARD);
    assert_eq!(
        chart,
        [
            "-100 prrtadv bs1>mh",
            "-97 fbu mh>bs1",
            "-94 hi bs1>bs2",
            "-81 hack bs2>bs1",
            "-69 fback bs1>mh",
            "100 una mh>bs2",
            "100 local-binding-update mh>gw",
            "100 rtsolpr mh>bs2",
            "103 prrtadv bs2>mh",
            "114 local-binding-acknowledge gw>mh",
        ]
    );
}

#[test]
fn fmipv6_reactive() {
    let chart = said("kind = \"fmipv6\"", HARD);
    assert_eq!(
        chart,
        [
            "100 una mh>bs2",
            "100 local-binding-update mh>gw",
            "100 fbu mh>bs1",
            "100 rtsolpr mh>bs2",
            "104 prrtadv bs2>mh",
            "114 local-binding-acknowledge gw>mh",
            "116 fback bs1>bs2",
            "128 fback bs2>mh",
        ]
    );
}

#[test]
fn bcmp_planned() {
    let chart = said("kind = \"bcmp\"\ntrigger = { by = \"source\" }", HARD);
    assert_eq!(
        chart,
        [
            "-100 handover-prepare-request mh>bs1",
            "-97 handover-prepare bs1>bs2",
            "-85 handover-prepare-acknowledge bs2>bs1",
            "-73 handover-prepared bs1>mh",
            "100 handover-attach mh>bs2",
            "103 handover-notify bs2>bs1",
            "103 anchor-path-update bs2>gw",
            "114 anchor-path-acknowledge gw>bs2",
            "125 handover-attach-acknowledge bs2>mh",
        ]
    );
}

#[test]
fn bcmp_unplanned() {
    let chart = said("kind = \"bcmp\"", HARD);
    assert_eq!(
        chart,
        [
            "100 handover-attach mh>bs2",
            "103 handover-notify bs2>bs1",
            "103 anchor-path-update bs2>gw",
            "114 anchor-path-acknowledge gw>bs2",
            "125 handover-attach-acknowledge bs2>mh",
        ]
    );
}
