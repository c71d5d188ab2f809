//! M&M: what the schemes that it composes lose and deliver twice.

use crate::lab::{Lab, MS, TURNS, lost_and_again};

fn mandm(fields: &str) -> String {
    format!("kind = \"mandm\"\n{fields}")
}

#[test]
fn explore() {
    for (name, fields, radio) in [
        ("reactive", "", "kind = \"hard\"\ngap = \"100 ms\""),
        (
            "noBuffer",
            "trigger = { by = \"source\" }\nbuffer = { limit = \"0 pkt\" }",
            "kind = \"hard\"\ngap = \"100 ms\"",
        ),
        (
            "Buffer",
            "trigger = { by = \"source\" }\nbuffer = { limit = \"1000 pkt\" }",
            "kind = \"hard\"\ngap = \"100 ms\"",
        ),
        (
            "Bufferpath",
            "trigger = { by = \"path\" }\nbuffer = { limit = \"1000 pkt\" }",
            "kind = \"hard\"\ngap = \"100 ms\"",
        ),
        (
            "Buffernopath",
            "trigger = { by = \"no-path\" }\nbuffer = { limit = \"1000 pkt\" , drop = \"oldest\"}",
            "kind = \"hard\"\ngap = \"100 ms\"",
        ),
        ("Bufferold", "buffer = { at = \"old\", limit = \"1000 pkt\" }", "kind = \"hard\"\ngap = \"100 ms\""),
        ("bicast", "redundancy = { bicast = \"100 ms\" }", "kind = \"soft\"\noverlap = \"200 ms\""),
        ("bicast hard", "redundancy = { bicast = \"100 ms\" }", "kind = \"hard\"\ngap = \"100 ms\""),
        ("soft reactive", "", "kind = \"soft\"\noverlap = \"200 ms\""),
        (
            "soft Buffer",
            "trigger = { by = \"source\" }\nbuffer = { limit = \"1000 pkt\" }",
            "kind = \"soft\"\noverlap = \"200 ms\"",
        ),
    ] {
        let record = Lab::with(&mandm(fields), radio).run();
        println!("{name}: {:?} inside {}", lost_and_again(&record), record.census("inside"));
        for phase in record.phases.iter().filter(|phase| phase.time > TURNS - 200 * MS) {
            println!("   {} {} {}", phase.time / 1000, phase.phase, phase.node);
        }
        let mut reasons = std::collections::BTreeMap::new();
        for loss in &record.losses {
            *reasons.entry((loss.reason.to_string(), loss.place.to_string())).or_insert(0) += 1;
        }
        println!("   {reasons:?}");
    }
}
