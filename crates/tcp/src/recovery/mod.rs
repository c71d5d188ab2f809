//! Loss recovery: detection and repair of losses. One file per algorithm, one row in the table below.

mod algorithm;
pub(crate) mod episode;
mod fack;
mod newreno;
mod ns2_fack;
mod pipe;
pub(crate) mod prr;
mod rack;
mod reno;
mod rfc6675;
pub(crate) mod scoreboard;
pub(crate) mod spurious;
mod tahoe;
mod vegas;

pub(crate) use algorithm::LossRecovery;

use crate::params::{RecoveryKind, TcpParams};
use crate::state::SendState;
use roamlab_engine::Time;

macro_rules! recoveries {
    ($($kind:ident => $algorithm:path,)+) => {
        /// The loss recovery of a connection.
        #[derive(Clone, Debug)]
        pub(crate) enum Recovery {
            $($kind($algorithm),)+
        }

        impl Recovery {
            pub fn new(params: &TcpParams) -> Recovery {
                match params.recovery {
                    $(RecoveryKind::$kind => Recovery::$kind(Default::default()),)+
                }
            }

            /// The algorithm, for all but the fast path.
            pub fn algorithm(&mut self) -> &mut dyn LossRecovery {
                match self {
                    $(Recovery::$kind(algorithm) => algorithm,)+
                }
            }

            pub fn allows_fast_path(&self, state: &SendState) -> bool {
                match self {
                    $(Recovery::$kind(algorithm) => algorithm.allows_fast_path(state),)+
                }
            }

            #[inline(always)]
            pub fn on_fast_ack(&mut self, state: &mut SendState, now: Time) {
                match self {
                    $(Recovery::$kind(algorithm) => algorithm.on_fast_ack(state, now),)+
                }
            }

            #[inline(always)]
            pub fn on_fast_sent(&mut self, state: &mut SendState, now: Time) {
                match self {
                    $(Recovery::$kind(algorithm) => algorithm.on_fast_sent(state, now),)+
                }
            }
        }
    };
}

recoveries! {
    Tahoe => tahoe::Tahoe,
    Reno => reno::Reno,
    NewReno => newreno::NewReno,
    Pipe => pipe::Pipe,
    Rfc6675 => rfc6675::Rfc6675,
    Fack => fack::Fack,
    Ns2Fack => ns2_fack::Ns2Fack,
    Vegas => vegas::Vegas,
    Rack => rack::Rack,
}
