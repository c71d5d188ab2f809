//! Random scenarios of 802.11.

use super::Case;
use crate::unchanged::fields::{Dice, inline, lines};
use serde_json::{Map, Value, json};

impl Case<'_> {
    /// Stations of 802.11, of which some roam.
    pub(super) fn wireless_lan(&mut self) {
        self.run(0.8, 2.5);
        let end = 2.0;
        self.tree();
        let medium_kind = self.dice.one_of(&["dcf", "dcf", "dcf", "shared"]);
        self.wireless_cells(medium_kind);
        let protocol = self.dice.one_of(&["mandm", "mobile-ip", "cellular-ip", "hawaii"]);
        let domain = if protocol == "mobile-ip" {
            "\nadvertisement_interval = \"100 ms\""
        } else {
            "\ndomain = { gateway = \"gw\" }"
        };
        self.put(&format!("[mobility]\nkind = \"{protocol}\"{domain}"));
        if medium_kind == "dcf" && self.dice.chance(0.6) {
            let mut fields = self.table("RadioSpec", "802.11", "radio", 2.0);
            let request = self.levels(&mut fields, end);
            self.put(&format!("[radio]\nkind = \"802.11\"\n{}{request}", lines(&fields)));
        } else {
            let gap = self.delay(0.002, 0.2);
            self.put(&format!("[radio]\nkind = \"hard\"\ngap = {gap}"));
        }
        let hosts = 1 + self.dice.below(4);
        for host in 0..hosts {
            let visits = match self.dice.below(2) {
                0 => self.visits(end),
                _ => "{ cell = \"bs1\", at = \"0 s\" }".into(),
            };
            self.put(&format!("[[hosts]]\nname = \"h{host}\"\nhome = \"gw\"\nvisits = [{visits}]"));
        }
        for _ in 0..hosts + self.dice.below(2) {
            let host = format!("h{}", self.dice.below(hosts));
            let (from, to) =
                if self.dice.chance(0.5) { ("ch", host.as_str()) } else { (host.as_str(), "ch") };
            self.flow(from, to, end, true);
        }
    }

    /// Levels by the visits and scans in the background, as some stations have them; a request that some get, as TOML.
    fn levels(&mut self, fields: &mut Map<String, Value>, end: f64) -> String {
        let mut dice = Dice::of(self.fields.case, "levels");
        for name in ["measurement", "background_scan", "transitions"] {
            fields.remove(name);
        }
        if dice.chance(0.5) {
            fields.remove("overlap");
            let slope = dice.one_of(&[10.0, 40.0]);
            let levels = json!({ "peak_dbm": -60.0, "slope_db_per_s": slope, "audible_dbm": -80.0 });
            fields.insert("measurement".into(), levels);
            let scan = json!({
                "short_interval": dice.one_of(&["100 ms", "300 ms"]),
                "threshold_dbm": dice.one_of(&[-59.0, -62.0, -66.0]),
                "long_interval": "1 s",
                "keep_above_dbm": -60.0,
            });
            fields.insert("background_scan".into(), scan);
        }
        if !dice.chance(0.4) {
            return String::new();
        }
        let (cell, at) = (dice.one_of(&["bs1", "bs2"]), 1000.0 * dice.between(0.2, end));
        let ends = dice.one_of(&["", "disassociates_after = \"50 ms\"", "disassociates_after = \"400 ms\""]);
        format!("\n[[radio.transitions]]\ncell = \"{cell}\"\nat = \"{at:.0} ms\"\n{ends}")
    }

    fn wireless_cells(&mut self, medium_kind: &str) {
        let phy = self.dice.one_of(&["802.11b", "802.11b", "802.11a", "802.11g"]);
        for (cell, router) in [("bs1", "ar1"), ("bs2", "ar2"), ("bs3", "ar3")] {
            let mut fields = self.table("MediumSpec", medium_kind, "medium", 2.0);
            fields.retain(|name, _| !["phy", "basic_rate"].contains(&name.as_str()));
            let rate = match (medium_kind, phy) {
                ("shared", _) => self.dice.between(1e6, 6e6),
                (_, "802.11b") => self.dice.one_of(&[1e6, 2e6, 5.5e6, 11e6]),
                _ => self.dice.one_of(&[6e6, 12e6, 24e6, 54e6]),
            };
            if medium_kind == "dcf" {
                if phy != "802.11b" {
                    fields.remove("preamble");
                }
                fields.insert("phy".into(), phy.into());
                if self.dice.chance(0.4) {
                    fields.insert(
                        "rts_threshold".into(),
                        format!("{} B", self.dice.one_of(&[0, 200, 500])).into(),
                    );
                }
                if self.dice.chance(0.3) {
                    fields.insert("frame_loss".into(), self.dice.between(0.02, 0.5).into());
                }
            }
            self.cell(
                cell,
                router,
                rate,
                &format!("medium = {{ kind = \"{medium_kind}\"{} }}\n", inline(&fields)),
            );
        }
    }
}
