//! Random scenarios of LTE.

use super::Case;
use crate::unchanged::fields::{inline, lines};
use std::fmt::Write;

impl Case<'_> {
    /// LTE: measured handovers by schedule or by position.
    pub(super) fn lte(&mut self) {
        self.run(1.5, 4.0);
        let end = 3.0;
        for (left, right) in [("ch", "gw"), ("gw", "r"), ("gw", "mme")] {
            let delay = self.delay(0.001, 0.01);
            self.put(&format!(
                "[[links]]\nbetween = [\"{left}\", \"{right}\"]\nrate = \"10 Mbit/s\"\ndelay = {delay}"
            ));
        }
        let by_position = self.dice.chance(0.4);
        self.lte_cells(by_position);
        let period = self.lte_protocol();
        self.lte_radio(by_position, period);
        if by_position {
            let speed = self.dice.between(60.0, 400.0);
            self.put(&format!(
                "[[hosts]]\nname = \"h0\"\nhome = \"gw\"\nvisits = [{{ cell = \"bs1\", at = \"0 s\" }}]\ntrajectory = {{ waypoints_m = [[50.0, 20.0], [550.0, -10.0], [20.0, 30.0]], speed_m_per_s = {speed:.0}.0 }}"
            ));
            for _ in 0..self.dice.one_of(&[1, 2, 3]) {
                let (from, to) = if self.dice.chance(0.75) { ("ch", "h0") } else { ("h0", "ch") };
                self.flow(from, to, end, true);
            }
            self.faults("lte-x2");
        } else {
            self.hosts_and_flows(end, "lte-x2");
        }
    }

    fn lte_cells(&mut self, by_position: bool) {
        for (cell, x) in [("bs1", 0.0), ("bs2", 300.0), ("bs3", 600.0)] {
            let rate = self.dice.between(1e6, 6e6);
            let mut more = String::new();
            if by_position {
                more = format!("transmitter = {{ position_m = [{x:?}, 0.0] }}\n");
            }
            if self.dice.chance(0.3) {
                writeln!(more, "individual_offset_db = {:.1}", 6.0 * self.dice.uniform() - 3.0).unwrap();
            }
            self.cell(cell, "r", rate, &more);
        }
    }

    /// The protocol and its event A3; the period of measurements in milliseconds.
    fn lte_protocol(&mut self) -> u64 {
        let fields = self.table("MobilitySpec", "lte-x2", "mobility", 1.0);
        let mut a3 = self.table("ReportConfig", "", "a3", 4.0);
        let (filter, trigger, period) = (
            self.dice.one_of(&[0, 0, 4, 8]),
            self.dice.one_of(&[0, 40, 100]),
            self.dice.one_of(&[10, 20, 40]),
        );
        a3.retain(|name, _| !["time_to_trigger", "filter_coefficient"].contains(&name.as_str()));
        let a3 = inline(&a3);
        self.put(&format!(
            "[mobility]\nkind = \"lte-x2\"\nmme = \"mme\"\nmeasurement = {{ time_to_trigger = \"{trigger} ms\", filter_coefficient = {filter}{a3} }}\n{}",
            lines(&fields)
        ));
        period
    }

    fn lte_radio(&mut self, by_position: bool, period: u64) {
        let mut measurement = self.table("MeasurementSpec", "", "radio.measurement", 3.0);
        measurement.retain(|name, _| !["signal", "period"].contains(&name.as_str()));
        let signal = if by_position { "positions" } else { "schedule" };
        let shadow = if by_position && self.dice.chance(0.5) {
            "path_loss = { shadowing_db = 6.0, correlation_m = 20.0 }\n"
        } else {
            ""
        };
        if !shadow.is_empty() {
            measurement.remove("path_loss");
        }
        self.put(&format!(
            "[radio]\nkind = \"hard\"\n[radio.measurement]\nsignal = \"{signal}\"\nperiod = \"{period} ms\"\n{shadow}{}",
            lines(&measurement)
        ));
    }
}
