//! Mutated captures: they are read or refused, and nothing else.

use super::build::{Sketch, ipv4, pcap_of, section, udp};
use crate::{Addresses, anonymise, explain, read};

/// A small generator of numbers (xorshift), so that each run makes the same mutations.
pub struct Draws(pub u64);

impl Draws {
    /// A number below one.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }
}

/// A conversation with options, losses, tunnels and a resend.
fn packets() -> Vec<(u64, Vec<u8>)> {
    let mut made = Vec::new();
    for number in 0..40_u32 {
        let time = u64::from(number) * 30_000_000;
        let data =
            Sketch::data(1000 + number * 1000, 1000).stamped(number * 30, number * 30 - number.min(20));
        let inner = if number.is_multiple_of(3) {
            let gtp = [&[0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0][..], &data.ipv4()].concat();
            ipv4(17, [1; 4], [2; 4], &udp((2152, 2152), &gtp))
        } else if number.is_multiple_of(7) {
            data.ipv6()
        } else {
            data.ipv4()
        };
        made.push((time, inner));
        let ack = Sketch::ack(1000 + number / 4 * 4000).stamped(9000 + number * 30, number * 30);
        made.push((time + 20_000_000, ack.sack(&[(3000 + number * 1000, 4000 + number * 1000)]).ipv4()));
    }
    made
}

/// How many: those of a change, or as many as `make deep` asks for.
#[expect(clippy::disallowed_methods, reason = "the test's own size")]
pub fn mutations() -> u64 {
    std::env::var("ROAMLAB_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(200)
}

#[test]
fn mutated_captures_are_read_or_refused() {
    let count = mutations();
    let in_ticks: Vec<_> = packets().into_iter().map(|(time, data)| (time / 1_000_000, data)).collect();
    let files = [
        pcap_of(0xA1B2_3C4D, false, 101, &packets(), 90),
        section(false, &in_ticks),
        section(true, &in_ticks),
        ruzstd::encoding::compress_to_vec(
            &section(false, &in_ticks)[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        ),
    ];
    let (mut kept, mut refused) = (0, 0);
    let mut addresses = Addresses::new(std::array::from_fn(|at| at as u8)).unwrap();
    for number in 0..count {
        let mut draws = Draws(0x9E37_79B9_7F4A_7C15 ^ (number + 1).wrapping_mul(0xD129_0D3B_3F65_4A1D));
        let mut file = files[draws.below(files.len())].clone();
        for _ in 0..=draws.below(8) {
            let at = draws.below(file.len());
            match draws.below(5) {
                0 => file[at] = draws.below(256) as u8,
                1 => file[at] ^= 1 << draws.below(8),
                2 => file.truncate(at.max(1)),
                3 => file[at..].iter_mut().take(4).for_each(|byte| *byte = 0xFF),
                _ => {
                    let part = file[at..file.len().min(at + 60)].to_vec();
                    file.splice(at..at, part);
                }
            }
        }
        match read(&file[..]) {
            Ok(capture) => {
                explain(&capture, None);
                explain(&capture, Some(&capture));
                let mut made = Vec::new();
                anonymise(&file[..], &mut made, &mut addresses).unwrap();
                assert_eq!(read(&made[..]).map(|made| made.flows.len()), Ok(capture.flows.len()), "{number}");
                kept += 1;
            }
            Err(fault) => {
                assert!(
                    fault.byte <= 4 * file.len() as u64 + 100_000 && !fault.problem.is_empty(),
                    "{fault}"
                );
                refused += 1;
            }
        }
    }
    assert!(kept > count / 5 && refused > count / 20, "{kept} were read, {refused} refused");
}
