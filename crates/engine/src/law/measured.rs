//! Durations of handovers as they were measured: quantiles of published data.

use crate::named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named! {
    /// A table of measured durations: the times of signalling from the command of a handover to the end of its random
    /// access unless the source has another interval. Whole milliseconds.
    ///
    /// Those up to `sa_mcg` are from the data set of the SIGCOMM 2022 study of 5G mobility (SIGCOMM22-5GMobility/artifact,
    /// intervals "HO+RACH" of drives in the USA). The two of CoNEXT 2025 are read off a vector figure. Those of PAM 2025 are
    /// XCAL's intervals from Start to End, 6,452 of them in all.
    #[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum MeasuredDurations {
        /// LTE, change of the primary cell (SIGCOMM 2022).
        LtePcell => "lte_pcell",
        /// 5G non-standalone, change of the LTE primary cell (SIGCOMM 2022).
        NsaPcell => "nsa_pcell",
        /// 5G non-standalone, change of the master cell group (SIGCOMM 2022).
        NsaMcg => "nsa_mcg",
        /// 5G non-standalone, addition of the secondary cell group (SIGCOMM 2022).
        NsaScgAdd => "nsa_scg_add",
        /// 5G non-standalone, change of the secondary cell group (SIGCOMM 2022).
        NsaScgMod => "nsa_scg_mod",
        /// 5G non-standalone, release of the secondary cell group (SIGCOMM 2022).
        NsaScgRel => "nsa_scg_rel",
        /// 5G standalone, change of the master cell group (SIGCOMM 2022).
        SaMcg => "sa_mcg",
        /// 5G non-standalone in 2024 (CoNEXT 2025, a figure).
        #[serde(rename = "conext25_nsa_2024")]
        Conext25Nsa => "conext25_nsa_2024",
        /// 5G standalone in 2024 (CoNEXT 2025, a figure).
        #[serde(rename = "conext25_sa_2024")]
        Conext25Sa => "conext25_sa_2024",
        /// All operators (PAM 2025).
        Pam25All => "pam25_all",
        /// AT&T (PAM 2025).
        Pam25Att => "pam25_att",
        /// Verizon (PAM 2025).
        Pam25Vzw => "pam25_vzw",
    }
}

impl MeasuredDurations {
    /// The probabilities of the measured quantiles; the last one is the longest time.
    pub const PROBABILITIES: [f64; 6] = [0.05, 0.5, 0.9, 0.95, 0.99, 1.0];

    /// The measured quantiles in ms. The longest time of a figure is not known.
    pub const fn quantiles_ms(self) -> ([u64; 5], Option<u64>) {
        match self {
            MeasuredDurations::LtePcell => ([26, 34, 47, 62, 94], Some(887)),
            MeasuredDurations::NsaPcell => ([28, 52, 69, 82, 99], Some(251)),
            MeasuredDurations::NsaMcg => ([26, 33, 42, 52, 70], Some(251)),
            MeasuredDurations::NsaScgAdd => ([24, 42, 61, 71, 82], Some(125)),
            MeasuredDurations::NsaScgMod => ([25, 33, 45, 50, 58], Some(86)),
            MeasuredDurations::NsaScgRel => ([43, 54, 74, 80, 93], Some(1633)),
            MeasuredDurations::SaMcg => ([61, 66, 69, 70, 74], Some(94)),
            MeasuredDurations::Conext25Nsa => ([8, 18, 42, 46, 54], None),
            MeasuredDurations::Conext25Sa => ([15, 39, 54, 56, 59], None),
            MeasuredDurations::Pam25All => ([26, 59, 108, 244, 551], Some(996)),
            MeasuredDurations::Pam25Att => ([28, 62, 136, 400, 630], Some(996)),
            MeasuredDurations::Pam25Vzw => ([24, 55, 93, 116, 360], Some(854)),
        }
    }

    /// A summary in a line.
    pub fn summary(self) -> String {
        let ([_, median, _, p95, p99], most) = self.quantiles_ms();
        let most = most.map_or(String::new(), |most| format!(", the longest {most}"));
        format!("measured durations of handovers: median {median} ms, 95 % {p95}, 99 % {p99}{most}")
    }

    /// The quantile function in ms at a probability from 0 to 1: a line from each point to the next.
    ///
    /// ASSUMPTION: the shortest time is half of the 5 % quantile, and the line between those two is the first. Where the
    /// longest time is not known, the line from the 95 % to the 99 % quantile continues to 100 %.
    pub(super) fn quantile_ms(self, probability: f64) -> f64 {
        let (known, most) = self.quantiles_ms();
        let known = known.map(|ms| ms as f64);
        let [p5, _, _, p95, p99] = known;
        let most = most.map_or(p99 + (p99 - p95) / 4.0, |ms| ms as f64);
        let times = known.into_iter().chain([most]);
        let points = MeasuredDurations::PROBABILITIES.into_iter().zip(times);
        super::interpolated(std::iter::once((0.0, p5 / 2.0)).chain(points), probability)
    }
}
