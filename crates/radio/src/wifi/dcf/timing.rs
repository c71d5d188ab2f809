//! The durations of frames and pauses on the physical layers of IEEE 802.11.
//!
//! Clauses are those of IEEE Std 802.11-2007.

use roamlab_engine::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MAC header with three addresses, 24 B, and frame check sequence, 4 B (§7.1.2); LLC and SNAP, 8 B (RFC 1042).
const DATA_OVERHEAD: u64 = 24 + 4 + 8;
/// Sizes of control frames (§7.2.1).
const RTS: u64 = 20;
const CTS: u64 = 14;
const ACK: u64 = 14;

/// A physical layer.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum Phy {
    /// DSSS and CCK at 2.4 GHz (§15, §18).
    #[default]
    #[serde(rename = "802.11b")]
    B,
    /// OFDM at 5 GHz (§17).
    #[serde(rename = "802.11a")]
    A,
    /// ERP-OFDM at 2.4 GHz (§19), with short slots: a cell without stations of 802.11b.
    #[serde(rename = "802.11g")]
    G,
}

/// The preamble of 802.11b before frames of 2 Mbit/s and more; those of 1 Mbit/s have the long one.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preamble {
    /// 144 bits and a header of 48 bits at 1 Mbit/s: 192 µs (§18.2.2.1).
    Long,
    /// 72 bits at 1 Mbit/s and a header of 48 bits at 2 Mbit/s: 96 µs (§18.2.2.2).
    Short,
}

/// Differences between physical layers: times in µs, rates in kbit/s.
struct Constants {
    name: &'static str,
    slot: u64,
    sifs: u64,
    cw_min: u32,
    rates: &'static [u64],
    mandatory: &'static [u64],
    basic: u64,
}

impl Phy {
    /// §15.3.3 and §18.3.3, §17.5.2, §19.8.4.
    const fn constants(self) -> Constants {
        const OFDM_RATES: &[u64] = &[6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
        const OFDM_MANDATORY: &[u64] = &[6_000, 12_000, 24_000];
        const DSSS_RATES: &[u64] = &[1_000, 2_000, 5_500, 11_000];
        let (rates, mandatory, basic) = (OFDM_RATES, OFDM_MANDATORY, 24_000);
        match self {
            Phy::B => Constants {
                name: "802.11b",
                slot: 20,
                sifs: 10,
                cw_min: 31,
                rates: DSSS_RATES,
                mandatory: DSSS_RATES,
                basic: 2_000,
            },
            Phy::A => Constants { name: "802.11a", slot: 9, sifs: 16, cw_min: 15, rates, mandatory, basic },
            Phy::G => Constants { name: "802.11g", slot: 9, sifs: 10, cw_min: 15, rates, mandatory, basic },
        }
    }

    /// Its smallest contention window.
    pub(super) fn cw_min(self) -> u32 {
        self.constants().cw_min
    }

    /// The fault of a rate for data; `None`: none.
    pub(super) fn refuses_data_at(self, rate: Rate) -> Option<String> {
        refuses(self.constants().rates, rate).map(|rates| {
            format!("{} does not send data at {rate}: write one of {rates}", self.constants().name)
        })
    }

    /// The fault of a basic rate; `None`: none.
    pub(super) fn refuses_basic(self, rate: Rate) -> Option<String> {
        refuses(self.constants().mandatory, rate).map(|rates| {
            format!("{rate} is no mandatory rate of {}: write one of {rates}", self.constants().name)
        })
    }
}

/// The rates to choose from, unless `rate` is one of them.
fn refuses(kbps: &[u64], rate: Rate) -> Option<String> {
    let rates: Vec<Rate> = kbps.iter().map(|kbps| Rate::from_bps(kbps * 1_000)).collect();
    let all = || rates.iter().map(|rate| format!("\"{rate}\"")).collect::<Vec<_>>().join(", ");
    (!rates.contains(&rate)).then(all)
}

/// The times of one cell.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    phy: Phy,
    preamble: Preamble,
    /// The highest rate of responses, and the rate of broadcasts.
    pub(super) basic_rate: Rate,
    pub(super) slot: Duration,
    pub(super) sifs: Duration,
    /// SIFS and two slots (§9.2.10).
    pub(super) difs: Duration,
    /// SIFS, DIFS and an acknowledgement at the lowest mandatory rate (§9.2.3.5).
    pub(super) eifs: Duration,
    /// How long a sender waits for a response before it knows that none comes: SIFS, a slot and the time until a receiver
    /// sees that a frame begins (§9.2.5.7, §9.2.8).
    pub(super) response_timeout: Duration,
    /// Time until a receiver sees that a frame begins, `aPHY-RX-START-Delay`.
    rx_start: Duration,
}

impl Timing {
    pub(super) fn new(phy: Phy, preamble: Preamble, basic_rate: Option<Rate>) -> Timing {
        let Constants { slot, sifs, basic, mandatory, .. } = phy.constants();
        let (slot, sifs) = (Duration::from_micros(slot), Duration::from_micros(sifs));
        let rx_start = Duration::from_micros(match (phy, preamble) {
            (Phy::B, Preamble::Long) => 192,
            (Phy::B, Preamble::Short) => 96,
            (Phy::A, _) => 25,
            (Phy::G, _) => 24,
        });
        let difs = sifs + slot + slot;
        let mut timing = Timing {
            phy,
            preamble,
            basic_rate: basic_rate.unwrap_or(Rate::from_bps(basic * 1_000)),
            slot,
            sifs,
            difs,
            eifs: difs,
            response_timeout: sifs + slot + rx_start,
            rx_start,
        };
        timing.eifs = sifs + difs + timing.airtime(ACK, Rate::from_bps(mandatory[0] * 1_000));
        timing
    }

    /// How long this number of bytes are on the air, preamble included. DSSS: §18.3.4, to the end of the last
    /// symbol and not to the next whole microsecond. OFDM: §17.4.3 in symbols of 4 µs; ERP-OFDM has 6 µs of
    /// silence behind it (§19.8.3.1).
    fn airtime(&self, bytes: u64, rate: Rate) -> Duration {
        let bps = rate.as_bps();
        match self.phy {
            Phy::B => {
                let short = self.preamble == Preamble::Short && bps >= 2_000_000;
                let preamble = Duration::from_micros(if short { 96 } else { 192 });
                preamble + Duration::from_nanos((bytes * 8 * 1_000_000_000).div_ceil(bps))
            }
            Phy::A | Phy::G => {
                let bits = 16 + 8 * bytes + 6;
                let symbols = (bits * 1_000_000).div_ceil(bps * 4);
                let extension = if self.phy == Phy::G { 6 } else { 0 };
                Duration::from_micros(20 + 4 * symbols + extension)
            }
        }
    }

    /// A packet of this size as one data frame.
    pub(super) fn data(&self, packet: Bytes, rate: Rate) -> Duration {
        self.airtime(packet.0 + DATA_OVERHEAD, rate)
    }

    /// A management frame of this size, MAC header and check sequence included, at the basic rate.
    pub(super) fn management(&self, size: Bytes) -> Duration {
        self.airtime(size.0, self.basic_rate)
    }

    /// The size of a packet's data frame from the MAC header to the check sequence, which the RTS threshold is about.
    pub(super) fn mpdu(packet: Bytes) -> Bytes {
        Bytes(packet.0 + DATA_OVERHEAD)
    }

    pub(super) fn rts(&self, rate: Rate) -> Duration {
        self.airtime(RTS, self.response_rate(rate))
    }

    pub(super) fn cts(&self, rate: Rate) -> Duration {
        self.airtime(CTS, self.response_rate(rate))
    }

    pub(super) fn ack(&self, rate: Rate) -> Duration {
        self.airtime(ACK, self.response_rate(rate))
    }

    /// When those who heard an RTS that no CTS followed release the time that it reserved (§9.2.5.4).
    pub(super) fn reservation_lapse(&self, rate: Rate) -> Duration {
        self.sifs + self.sifs + self.cts(rate) + self.rx_start + self.slot + self.slot
    }

    /// The highest mandatory rate up to the basic rate and the frame's (§9.6).
    fn response_rate(&self, rate: Rate) -> Rate {
        let most = self.basic_rate.min(rate);
        let mandatory = self.phy.constants().mandatory;
        let rates = mandatory.iter().map(|kbps| Rate::from_bps(kbps * 1_000));
        rates.filter(|&mandatory| mandatory <= most).max().unwrap_or(self.basic_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(rate: f64) -> Rate {
        Rate::from_bps((rate * 1e6) as u64)
    }

    fn micros(span: Duration) -> f64 {
        span.as_nanos() as f64 / 1e3
    }

    /// Values of the standard, or from its formulas by hand.
    #[test]
    fn frames_and_pauses_take_what_the_standard_says() {
        let b = Timing::new(Phy::B, Preamble::Long, None);
        assert_eq!([b.difs, b.eifs].map(micros), [50.0, 364.0]);
        assert_eq!(micros(b.response_timeout), 222.0);
        assert_eq!(micros(b.data(Bytes(1500), mbps(1.0))), 192.0 + 12_288.0);
        assert_eq!(micros(b.data(Bytes(1500), mbps(11.0))), 192.0 + 1_117.091);
        assert_eq!([1.0, 2.0, 11.0].map(|rate| micros(b.ack(mbps(rate)))), [304.0, 248.0, 248.0]);
        assert_eq!((micros(b.rts(mbps(11.0))), micros(b.cts(mbps(11.0)))), (272.0, 248.0));
        let short = Timing::new(Phy::B, Preamble::Short, None);
        // At 1 Mbit/s there is only the long preamble.
        assert_eq!([1.0, 2.0].map(|rate| micros(short.ack(mbps(rate)))), [304.0, 152.0]);
        assert_eq!(micros(short.eifs), 364.0);
        // §18.3.4: a receiver reports a short preamble and its header after 96 us. SIFS and a slot; 2 SIFS, a CTS, 2 slots.
        assert_eq!(micros(short.response_timeout), 10.0 + 20.0 + 96.0);
        assert_eq!(micros(short.reservation_lapse(mbps(2.0))), 20.0 + 152.0 + 96.0 + 40.0);
        let a = Timing::new(Phy::A, Preamble::Long, None);
        assert_eq!([a.difs, a.eifs].map(micros), [34.0, 94.0]);
        // 16 + 8·1536 + 6 bits are 57.0 symbols of 216 bits at 54 Mbit/s and 512.1 of 24 bits at 6 Mbit/s.
        assert_eq!([54.0, 6.0].map(|rate| micros(a.data(Bytes(1500), mbps(rate)))), [248.0, 2072.0]);
        assert_eq!([6.0, 9.0, 18.0, 54.0].map(|rate| micros(a.ack(mbps(rate)))), [44.0, 44.0, 32.0, 28.0]);
        let g = Timing::new(Phy::G, Preamble::Long, None);
        assert_eq!([g.difs, g.eifs].map(micros), [28.0, 88.0]);
        assert_eq!(micros(g.data(Bytes(1500), mbps(54.0))), 254.0);
    }
}
