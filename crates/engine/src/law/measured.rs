//! Laws of measured durations: quantiles of published data, and counts of silences.

use crate::named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named! {
    /// A table of measured durations of hosts that drive in the USA: quantiles, in ms.
    ///
    /// A signalling time is from the command of a handover to the end of its random access. A preparation is from the
    /// measurement report to the command. An interval is between two handovers. A silence is a time without replies to
    /// pings at 5 Hz, longer than 100 ms, of any cause.
    ///
    /// SIGCOMM 2022: the data set of the study of 5G mobility (SIGCOMM22-5GMobility/artifact; intervals "HO+RACH"). PAM 2025:
    /// XCAL's intervals from Start to End, 6,452 handovers of three operators (CC0). CoNEXT 2025: read off a vector figure.
    #[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum MeasuredDurations {
        /// Signalling: LTE, change of the primary cell (SIGCOMM 2022).
        LtePcell => "lte_pcell",
        /// Signalling: 5G non-standalone, change of the LTE primary cell (SIGCOMM 2022).
        NsaPcell => "nsa_pcell",
        /// Signalling: 5G non-standalone, change of the master cell group (SIGCOMM 2022).
        NsaMcg => "nsa_mcg",
        /// Signalling: 5G non-standalone, addition of the secondary cell group (SIGCOMM 2022).
        NsaScgAdd => "nsa_scg_add",
        /// Signalling: 5G non-standalone, change of the secondary cell group (SIGCOMM 2022).
        NsaScgMod => "nsa_scg_mod",
        /// Signalling: 5G non-standalone, release of the secondary cell group (SIGCOMM 2022).
        NsaScgRel => "nsa_scg_rel",
        /// Signalling: 5G standalone, change of the master cell group (SIGCOMM 2022).
        SaMcg => "sa_mcg",
        /// Signalling: 5G non-standalone in 2024 (CoNEXT 2025, a figure).
        #[serde(rename = "conext25_nsa_2024")]
        Conext25Nsa => "conext25_nsa_2024",
        /// Signalling: 5G standalone in 2024 (CoNEXT 2025, a figure).
        #[serde(rename = "conext25_sa_2024")]
        Conext25Sa => "conext25_sa_2024",
        /// Signalling: all operators (PAM 2025).
        Pam25All => "pam25_all",
        /// Signalling: AT&T (PAM 2025).
        Pam25Att => "pam25_att",
        /// Signalling: Verizon (PAM 2025).
        Pam25Vzw => "pam25_vzw",
        /// Interval between handovers, all operators (PAM 2025).
        Pam25Interval => "pam25_interval",
        /// Preparation: LTE. Only its median is published.
        PreparationLte => "preparation_lte",
        /// Preparation: 5G standalone.
        PreparationSa => "preparation_sa",
        /// Preparation: 5G non-standalone, addition of the secondary cell group.
        PreparationNsaScgAdd => "preparation_nsa_scg_add",
        /// Preparation: 5G non-standalone, change of the LTE primary cell.
        PreparationNsaPcell => "preparation_nsa_pcell",
        /// Silence: Verizon, 2023.
        #[serde(rename = "drive_silence_vzw_2023")]
        SilenceVzw2023 => "drive_silence_vzw_2023",
        /// Silence: AT&T, 2023.
        #[serde(rename = "drive_silence_att_2023")]
        SilenceAtt2023 => "drive_silence_att_2023",
        /// Silence: T-Mobile, 2023.
        #[serde(rename = "drive_silence_tmobile_2023")]
        SilenceTmobile2023 => "drive_silence_tmobile_2023",
        /// Silence: T-Mobile, 2024.
        #[serde(rename = "drive_silence_tmobile_2024")]
        SilenceTmobile2024 => "drive_silence_tmobile_2024",
    }
}

/// The bounds in ms above which silences are counted.
const SILENCES_ABOVE_MS: [f64; 4] = [100.0, 250.0, 1000.0, 3000.0];

// Silences of drives, as in `per_hour`.
const VZW_2023: [f64; 4] = [214.0, 79.0, 13.0, 1.2];
const ATT_2023: [f64; 4] = [311.0, 64.0, 5.6, 0.6];
const TMOBILE_2023: [f64; 4] = [667.0, 61.0, 14.0, 2.3];
const TMOBILE_2024: [f64; 4] = [243.0, 92.0, 20.0, 7.8];

impl MeasuredDurations {
    /// The measured points of the quantile function: a probability, and the time in ms that is not exceeded with it.
    pub const fn points_ms(self) -> &'static [(f64, f64)] {
        use MeasuredDurations as M;
        match self {
            M::LtePcell => const { &handovers([26., 34., 47., 62., 94., 887.]) },
            M::NsaPcell => const { &handovers([28., 52., 69., 82., 99., 251.]) },
            M::NsaMcg => const { &handovers([26., 33., 42., 52., 70., 251.]) },
            M::NsaScgAdd => const { &handovers([24., 42., 61., 71., 82., 125.]) },
            M::NsaScgMod => const { &handovers([25., 33., 45., 50., 58., 86.]) },
            M::NsaScgRel => const { &handovers([43., 54., 74., 80., 93., 1633.]) },
            M::SaMcg => const { &handovers([61., 66., 69., 70., 74., 94.]) },
            M::Conext25Nsa => &[(0.05, 8.), (0.5, 18.), (0.9, 42.), (0.95, 46.), (0.99, 54.)],
            M::Conext25Sa => &[(0.05, 15.), (0.5, 39.), (0.9, 54.), (0.95, 56.), (0.99, 59.)],
            M::Pam25All => const { &handovers([26., 59., 108., 244., 551., 996.]) },
            M::Pam25Att => const { &handovers([28., 62., 136., 400., 630., 996.]) },
            M::Pam25Vzw => const { &handovers([24., 55., 93., 116., 360., 854.]) },
            M::Pam25Interval => &[(0.1, 800.), (0.5, 5700.), (0.9, 36_000.)],
            M::PreparationLte => &[(0.5, 98.)],
            M::PreparationSa => &[(0.5, 45.), (0.9, 128.), (0.99, 373.)],
            M::PreparationNsaScgAdd => &[(0.5, 64.), (0.9, 146.), (0.99, 466.)],
            M::PreparationNsaPcell => &[(0.5, 69.), (0.9, 279.), (0.99, 5720.)],
            M::SilenceVzw2023 => const { &silences(VZW_2023) },
            M::SilenceAtt2023 => const { &silences(ATT_2023) },
            M::SilenceTmobile2023 => const { &silences(TMOBILE_2023) },
            M::SilenceTmobile2024 => const { &silences(TMOBILE_2024) },
        }
    }

    /// Of silences: how many in an hour of driving were longer than 0.1 s, 0.25 s, 1 s and 3 s.
    pub const fn per_hour(self) -> Option<[f64; 4]> {
        match self {
            MeasuredDurations::SilenceVzw2023 => Some(VZW_2023),
            MeasuredDurations::SilenceAtt2023 => Some(ATT_2023),
            MeasuredDurations::SilenceTmobile2023 => Some(TMOBILE_2023),
            MeasuredDurations::SilenceTmobile2024 => Some(TMOBILE_2024),
            _ => None,
        }
    }

    /// A summary in a line.
    pub fn summary(self) -> String {
        if let Some([all, quarter, one, three]) = self.per_hour() {
            return format!(
                "measured silences above 100 ms of hosts that drive: {all} per hour, {quarter} above 0.25 s, {one} above \
                 1 s, {three} above 3 s"
            );
        }
        let what = match self.name() {
            "pam25_interval" => "intervals between",
            name if name.starts_with("preparation") => "preparations of",
            _ => "durations of",
        };
        let point = |&(probability, ms): &(f64, f64)| match probability {
            0.5 => format!("median {ms} ms"),
            1.0 => format!("the longest {ms}"),
            _ => format!("{} % {ms}", 100.0 * probability),
        };
        let points = self.points_ms().iter().filter(|(probability, _)| *probability >= 0.5).map(point);
        format!("measured {what} handovers: {}", points.collect::<Vec<_>>().join(", "))
    }

    /// All points of the quantile function, from probability 0 to 1, in ms.
    ///
    /// ASSUMPTION: the shortest time, where it is not known, is half of the lowest quantile. Where the longest time is not
    /// known, the line between the last two points continues to 100 %.
    pub fn curve_ms(self) -> Vec<(f64, f64)> {
        let known = self.points_ms();
        let mut points: Vec<(f64, f64)> = known
            .first()
            .filter(|(share, _)| *share > 0.0)
            .map(|&(_, ms)| (0.0, ms / 2.0))
            .into_iter()
            .collect();
        points.extend(known);
        if let &[.., (before, earlier), (share, time)] = points.as_slice()
            && share < 1.0
        {
            points.push((1.0, time + (time - earlier) * ((1.0 - share) / (share - before))));
        }
        points
    }
}

/// The points of a table with the 5 %, 50 %, 90 %, 95 % and 99 % quantiles and the longest time.
const fn handovers(ms: [f64; 6]) -> [(f64, f64); 6] {
    [(0.05, ms[0]), (0.5, ms[1]), (0.9, ms[2]), (0.95, ms[3]), (0.99, ms[4]), (1.0, ms[5])]
}

/// The points of the length of a silence above 0.1 s, from the counts in an hour.
const fn silences([all, quarter, one, three]: [f64; 4]) -> [(f64, f64); 4] {
    let [first, second, third, last] = SILENCES_ABOVE_MS;
    [(0.0, first), (1.0 - quarter / all, second), (1.0 - one / all, third), (1.0 - three / all, last)]
}

/// The value at `x` of the function through these points, whose first coordinates rise, with a line from each to the next.
/// Below the first point it is that of the first, above the last one that of the last; without points 0.
pub(super) fn interpolated(points: impl IntoIterator<Item = (f64, f64)>, x: f64) -> f64 {
    let mut before: Option<(f64, f64)> = None;
    for (at, value) in points {
        if x <= at {
            return before
                .map_or(value, |(start, first)| first + (value - first) * ((x - start) / (at - start)));
        }
        before = Some((at, value));
    }
    before.map_or(0.0, |(_, value)| value)
}

/// The mean of a time whose quantile function goes through these points.
pub(super) fn mean(points: &[(f64, f64)]) -> f64 {
    let between =
        points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum::<f64>();
    let below = points.first().map_or(0.0, |&(share, value)| share * value);
    between + below + points.last().map_or(0.0, |&(share, value)| (1.0 - share) * value)
}
