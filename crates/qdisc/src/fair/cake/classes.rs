//! Tins: the classes of traffic of CAKE, by code point, with their weights.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tins of CAKE.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tins {
    /// One.
    Besteffort,
    /// Bulk, best effort, voice.
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight by code point.
    Diffserv8,
    /// Eight by the first three bits of the code point.
    Precedence,
}

impl Tins {
    /// Bytes that each tin may send in its turn, in Linux's order.
    pub(super) fn weights(self) -> Vec<i64> {
        match self {
            Tins::Besteffort => vec![65_535],
            Tins::Diffserv3 => vec![1024, 64, 256],
            Tins::Diffserv4 => vec![1024, 64, 512, 256],
            // Each has seven eighths of the one before.
            Tins::Diffserv8 | Tins::Precedence => {
                std::iter::successors(Some(256), |weight| Some((weight * 7) >> 3)).take(8).collect()
            }
        }
    }

    /// The tin of a code point.
    pub(super) fn of(self, dscp: u8) -> usize {
        match self {
            Tins::Besteffort => 0,
            Tins::Diffserv3 => match dscp {
                // LE, CS1.
                1 | 8 => 1,
                // TOS4, VA, EF, CS6, CS7.
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Tins::Diffserv4 => match dscp {
                1 | 8 => 1,
                // TOS4, CS2, AF2x, CS3, AF3x, AF4x.
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                // CS4, CS5, VA, EF, CS6, CS7.
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
            Tins::Diffserv8 => match dscp {
                // LE.
                1 => 0,
                // TOS2, CS1, AF1x.
                2 | 8 | 10 | 12 | 14 => 1,
                // CS3, AF3x, AF4x.
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
                // TOS4, AF2x.
                4 | 18 | 20 | 22 => 4,
                // CS2.
                16 => 5,
                // CS4, CS5, VA, EF.
                32 | 40 | 44 | 46 => 6,
                // CS6, CS7.
                48 | 56 => 7,
                _ => 2,
            },
            Tins::Precedence => usize::from(dscp >> 3 & 0b111),
        }
    }
}
