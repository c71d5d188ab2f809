//! Writes random histories of packets, and the longest persistent congestion that `s2n-quic-core` finds in each.
//!
//! A line has: the first sample of the round-trip time in µs, the packets acknowledged, the times of sending in µs, and the
//! answer in µs. The last packet is acknowledged; all others not acknowledged are lost, except the two before it.

use s2n_quic_core::frame::ack_elicitation::AckElicitation;
use s2n_quic_core::inet::ExplicitCongestionNotification;
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::recovery::SentPacketInfo;
use s2n_quic_core::recovery::persistent_congestion::Calculator;
use s2n_quic_core::time::{Clock, NoopClock};
use s2n_quic_core::transmission::Mode;
use s2n_quic_core::{path, varint::VarInt};
use std::time::Duration;

struct Random(u64);

impl Random {
    /// xorshift64*
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % end
    }
}

fn main() {
    let mut random = Random(0x5eed);
    let start = NoopClock.get_time();
    // SAFETY: the number names a path of this program alone.
    let path_id = unsafe { path::Id::new(0) };
    for _ in 0..400 {
        let count = 5 + random.below(12);
        let mut time = 0;
        let times: Vec<u64> = (0..count)
            .map(|_| {
                time += 1 + random.below(400_000);
                time
            })
            .collect();
        // Odd, as no time of sending is: both sides agree whether a packet was sent before or after.
        let times: Vec<u64> = times.into_iter().map(|time| 2 * time).collect();
        let sample = 1 + 2 * random.below(times[count as usize / 2]);
        let share = 1 + random.below(9);
        let mut acked: Vec<u64> = (0..count - 3).filter(|_| random.below(10) < share / 2).collect();
        acked.push(count - 1);
        let mut calculator = Calculator::new(Some(start + Duration::from_micros(sample)), path_id);
        for number in (0..count - 3).filter(|number| !acked.contains(number)) {
            let info = SentPacketInfo::new(
                true,
                1200,
                start + Duration::from_micros(times[number as usize]),
                AckElicitation::Eliciting,
                path_id,
                ExplicitCongestionNotification::NotEct,
                Mode::Normal,
                (),
            );
            let number = VarInt::from_u32(number as u32);
            calculator.on_lost_packet(PacketNumberSpace::ApplicationData.new_packet_number(number), &info);
        }
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let answer = calculator.persistent_congestion_duration().as_micros();
        println!("{sample} {} {} {answer}", list(&acked), list(&times));
    }
}
