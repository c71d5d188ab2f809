//! Models that do not exist, each with the nearest substitute. Refusals of names give it, and `docs/scope.md` lists the
//! same.

use super::words::plain;

/// Something that users look for and Roamlab does not have.
struct Absent {
    /// Names from elsewhere for it.
    words: &'static [&'static str],
    /// The name or field that is nearest.
    nearest: &'static str,
    /// How it is a substitute.
    how: &'static str,
    /// The section of `docs/scope.md`.
    section: &'static str,
}

/// The help for a name that is not among `names`, if something there is nearest to it.
pub fn help(wanted: &str, names: &[&str]) -> Option<String> {
    let (lower, word) = (wanted.to_ascii_lowercase(), plain(wanted));
    let is_word = |known: &&str| *known == lower || plain(known) == word;
    let is_meant = |row: &&Absent| row.words.iter().any(is_word) && names.contains(&row.nearest);
    let Absent { nearest, how, section, .. } = ABSENT.iter().find(is_meant)?;
    let how = unlinked(how);
    Some(format!("the nearest is `{nearest}`: {how} (docs/scope.md#{section})"))
}

/// The text without the addresses of links.
fn unlinked(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
    rest.fold(first, |text, rest| text + rest).replace('[', "")
}

const ABSENT: &[Absent] = &[
    Absent {
        words: &["http3"],
        nearest: "quic",
        how: "the application `web` over QUIC. Streams without head-of-line blocking have no substitute",
        section: "transports",
    },
    Absent {
        words: &["mptcp", "multipath-tcp"],
        nearest: "tcp",
        how: "two TCP flows, one for each path; they do not share data or windows",
        section: "transports",
    },
    Absent {
        words: &["sctp", "dccp"],
        nearest: "tcp",
        how: "TCP with `variant = \"sack\"`; messages and several addresses have no substitute",
        section: "transports",
    },
    Absent {
        words: &["rtp"],
        nearest: "udp",
        how: "the applications `voip`, `video` and `conference` send RTP in UDP",
        section: "transports",
    },
    Absent {
        words: &["bbr2", "bbrv2"],
        nearest: "bbr3",
        how: "BBR version 3, which corrects version 2 and replaces it; version 1 is `bbr`",
        section: "transports",
    },
    Absent {
        words: &["copa"],
        nearest: "vegas",
        how: "Vegas: also uses delay, without pacing and without a model of the rate",
        section: "transports",
    },
    Absent {
        words: &["westwood", "hybla", "illinois", "htcp", "compound", "scalable", "highspeed"],
        nearest: "sack",
        how: "SACK with Reno's law; a congestion control is one file to add (CONTRIBUTING.md)",
        section: "transports",
    },
    Absent {
        words: &["i-tcp", "itcp", "m-tcp", "mtcp", "freeze-tcp"],
        nearest: "tcp",
        how: "TCP with `snoop`, which leaves acknowledgements end to end; split connections and zero windows have no substitute",
        section: "transports",
    },
    Absent { words: &["ledbat"], nearest: "vegas", how: "Vegas for low delay", section: "transports" },
    Absent {
        words: &["windows", "freebsd"],
        nearest: "rfc",
        how: "the profile `rfc`: the standards, with each clause on [its page](models/tcp-clauses.md)",
        section: "transports",
    },
    Absent {
        words: &["sfq", "drr", "fq-pie"],
        nearest: "fq-codel",
        how: "FQ-CoDel: a queue for each flow, served in turn",
        section: "queues",
    },
    Absent {
        words: &["priority", "prio"],
        nearest: "mred",
        how: "`mred` and `mblue` treat forwarded packets differently from others",
        section: "queues",
    },
    Absent {
        words: &["htb", "tbf", "netem"],
        nearest: "droptail",
        how: "the `rate` and `delay` of the link; its queue is `droptail`",
        section: "queues",
    },
    Absent {
        words: &["ared", "adaptive-red", "gred"],
        nearest: "red",
        how: "RED with `gentle = true`; `max_p` is fixed",
        section: "queues",
    },
    Absent {
        words: &["mipv6", "mobile-ipv6"],
        nearest: "mobile-ip",
        how: "Mobile IPv4 with `route_optimisation = true`: binding updates to the correspondent; headers are smaller",
        section: "mobility-protocols",
    },
    Absent {
        words: &["hmipv6", "hmip"],
        nearest: "fmipv6",
        how: "FMIPv6 with its anchor, which is a local agent as the MAP is",
        section: "mobility-protocols",
    },
    Absent {
        words: &["pmipv6", "pmip", "proxy-mobile-ipv6"],
        nearest: "hawaii",
        how: "HAWAII: the network changes the route and the host keeps its address; without tunnels",
        section: "mobility-protocols",
    },
    Absent {
        words: &["slices", "slicing", "network-slicing", "carrier-aggregation", "dual-connectivity", "ntn"],
        nearest: "nr",
        how: "NR with one carrier and without slices; a satellite has [rates and delays from files](import.md), or a link with `changes`",
        section: "mobility-protocols",
    },
    Absent {
        words: &["s1", "lte", "lte-s1", "gtp"],
        nearest: "lte-x2",
        how: "LTE over X2, whose data forwarding is that of S1 without an indirect tunnel",
        section: "mobility-protocols",
    },
    Absent {
        words: &["hip", "nemo", "lisp", "ilnp"],
        nearest: "mobile-ip",
        how: "Mobile IP, for a single host",
        section: "mobility-protocols",
    },
    Absent {
        words: &["wifi", "wi-fi", "wlan"],
        nearest: "802.11",
        how: "roaming of 802.11 by its frames, by signal or by requests of base stations; the [air](models/dcf.md) is 802.11a, b or g without rate adaptation",
        section: "radios-and-media",
    },
    Absent {
        words: &["nr-radio", "mmwave", "umts", "bluetooth", "satellite"],
        nearest: "hard",
        how: "`hard` with a gap, a [recorded rate](import.md) or a [channel](models/channel.md) for the link, and [random loss](models/random-loss.md); satellites have [visits and delays](import.md#orbits)",
        section: "radios-and-media",
    },
    Absent {
        words: &["csma", "aloha", "tdma", "ofdma", "token-ring"],
        nearest: "shared",
        how: "one frame at a time, without cost of access; `dcf` is CSMA/CA",
        section: "radios-and-media",
    },
    Absent {
        words: &["random-waypoint", "random-walk", "gauss-markov", "manhattan", "sumo"],
        nearest: "random-neighbour",
        how: "a random neighbour of the cell each time, or a `schedule` from a file; a `trajectory` goes through given points, those of [SUMO and ns-2](import.md#movement) too",
        section: "movement",
    },
    Absent {
        words: &["on-off", "onoff", "exponential", "poisson", "pareto"],
        nearest: "voip",
        how: "`voip` with talkspurts is an on/off source; `web` has random sizes and pauses",
        section: "traffic",
    },
    Absent {
        words: &["http", "https", "http2", "browser"],
        nearest: "web",
        how: "pages of objects, over one connection or one for each object",
        section: "traffic",
    },
    Absent {
        words: &["hls", "youtube", "netflix", "streaming"],
        nearest: "dash",
        how: "adaptive video in segments",
        section: "traffic",
    },
    Absent {
        words: &["webrtc", "zoom", "skype", "teams"],
        nearest: "conference",
        how: "a conference at a steady rate; it does not adapt to loss or delay",
        section: "traffic",
    },
    Absent {
        words: &["download", "game", "iot", "telnet"],
        nearest: "ftp",
        how: "`ftp` for bulk data over TCP; `cbr` for datagrams at a steady rate",
        section: "traffic",
    },
    Absent {
        words: &["bernoulli", "independent", "uniform"],
        nearest: "gilbert-elliott",
        how: "a number is independent loss: `loss = 0.01`",
        section: "loss-and-errors",
    },
    Absent {
        words: &["corrupt", "error_rate", "bit_error_rate", "ber", "per", "packet_loss"],
        nearest: "loss",
        how: "a packet with an error is a lost packet: `loss = 0.01`",
        section: "loss-and-errors",
    },
    Absent {
        words: &["jitter", "reorder", "duplicate", "duplication"],
        nearest: "drops",
        how: "`drops` with a `delay` holds chosen packets back, and others overtake them; random jitter has no substitute",
        section: "loss-and-errors",
    },
    Absent {
        words: &["mtu"],
        nearest: "rate",
        how: "no link has an MTU; the `segment` of a flow is the size of its packets",
        section: "loss-and-errors",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/scope.md");

    #[test]
    fn a_word_with_a_substitute_among_the_names_gets_it() {
        let queues = ["droptail", "red"];
        let help = help("ARED", &queues).expect("a substitute");
        assert!(
            help.starts_with("the nearest is `red`: RED") && help.ends_with("(docs/scope.md#queues)"),
            "{help}"
        );
        assert_eq!(super::help("copa", &queues), None, "a congestion control is no queue");
        assert_eq!(super::help("colour", &queues), None);
        assert_eq!(unlinked("see [a](b.md) or [c](d)"), "see a or c");
    }

    #[test]
    fn every_row_is_on_the_page_below_its_section() {
        for Absent { words, nearest, how, section } in ABSENT {
            let title = PAGE.split("\n## ").find(|part| {
                let title = part.lines().next().unwrap_or_default().to_lowercase().replace(' ', "-");
                title == *section
            });
            let row = title.and_then(|part| part.lines().find(|line| line.contains(how)));
            let row = row.unwrap_or_else(|| panic!("{words:?}: no row below {section}"));
            assert!(row.contains(&format!("`{nearest}`")), "{row}");
            assert!(words.iter().all(|word| row.contains(&format!("`{word}`"))), "{row}");
        }
    }

    #[test]
    fn no_word_has_two_substitutes_of_one_name() {
        let mut seen = std::collections::BTreeSet::new();
        for row in ABSENT {
            assert!(row.words.iter().all(|word| seen.insert((*word, row.nearest))), "{:?}", row.words);
        }
    }
}
