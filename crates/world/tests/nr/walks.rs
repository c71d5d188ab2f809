//! Random walks under all laws: those that end a run, and those of its record.
//!
//! `ROAMLAB_WALKS=10000 cargo test -p roamlab-world --test runs nr::walks` runs more than the usual number.

use super::draw::Draw;
use super::laws::Laws;
use crate::lab::record::{MS, Phase, Record, walks};
use std::panic::catch_unwind;

/// The longest silence of a walk, in ns; its laws hold, and the host is reached in the end.
fn walk(number: u64, with_faults: bool) -> Result<u64, String> {
    let mut draw = Draw::new(number, with_faults);
    let (text, procedure) = (draw.text(), draw.procedure);
    let run = || Record::of(&text, number, draw.duration_ms);
    let record = catch_unwind(run).map_err(|problem| {
        let words = problem.downcast_ref::<String>().map_or("it panics", |words| words);
        format!("{procedure}: {words}")
    })?;
    let mut broken = Laws::of(&text).broken(&record);
    let end = record.end - super::draw::DRAINS * MS;
    let lossy = text.contains("loss = 0.1");
    // The core network does the path switches of a host one after the other.
    let switches = |noted: &Phase| &*noted.phase == "path-switched" && noted.time + 3_000 * MS > end;
    let settled = !lossy && !record.phases.iter().any(switches);
    if settled && !record.delivered("down").any(|delivery| delivery.sent + 1_000 * MS > end) {
        broken.push("the host is not reached in the last second".into());
    }
    let times: Vec<u64> = record.delivered("down").map(|delivery| delivery.time).collect();
    let silence = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    if broken.is_empty() { Ok(silence) } else { Err(format!("{procedure}: {}\n{text}", broken.join("\n"))) }
}

#[test]
fn the_laws_hold_in_random_walks() {
    walks(40, |number| walk(number, false));
}

#[test]
fn the_laws_hold_in_random_walks_with_faults() {
    walks(40, |number| walk(number, true));
}

/// Walks that have broken a law before.
#[test]
fn the_laws_hold_in_walks_that_have_broken_them() {
    let with_faults = [958, 2436, 5806, 5874, 6184, 7514, 5108, 7719, 7749, 7819, 4667, 7004];
    let without = [958, 1939, 4667];
    let all =
        with_faults.map(|number| (number, true)).into_iter().chain(without.map(|number| (number, false)));
    let wrong: Vec<String> = all.filter_map(|(number, faults)| walk(number, faults).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
