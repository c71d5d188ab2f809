//! The roles together on a small message bus, and each role's transition table.

mod bus;
mod chart;
mod table;
mod trouble;

use super::{BeaconTiming, BufferAt, Kind, Params, ReplyCode, RoTrigger};
use crate::Kind as _;
use crate::lab::HERE;
use roamlab_engine::{Bytes, Duration};

#[test]
fn parameters_are_read_with_units_and_unknown_fields_are_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let some = read(
        r#"{"ro_trigger": "warning", "tb_mode": "uniform", "beacon_interval": "20 ms",
            "buffer": {"at": "none", "hold": "1 s"}}"#,
    )?;
    assert_eq!((some.ro_trigger, some.tb_mode), (RoTrigger::Warning, BeaconTiming::Uniform));
    assert_eq!(some.beacon_interval, Duration::from_millis(20));
    assert_eq!((some.buffer.at, some.buffer.hold), (BufferAt::None, Duration::from_secs(1)));
    assert!(read(r#"{"beacon_intervall": "20 ms"}"#).is_err());
    assert!(read(r#"{"buffer": {"size": "64 pkt"}}"#).is_err());
    assert!(read(r#"{"beacon_interval": 20}"#).is_err());
    assert_eq!(
        read(r#"{"beacon_interval": "0 ms"}"#)?.check().map_err(|(field, _)| field),
        Err("beacon_interval")
    );
    let never = read(r#"{"buffer": {"forward_below": "0 pkt"}}"#)?;
    assert_eq!(never.check().map_err(|(field, _)| field), Err("buffer.forward_below"));
    assert_eq!(Params::default().check(), Ok(()));
    Ok(())
}

fn request(previous: &[roamlab_packet::Addr]) -> Kind {
    let previous = previous.to_vec();
    let (home_agent, care_of, base_station) = (HERE, HERE, HERE);
    Kind::RegistrationRequest { home_agent, care_of, lifetime: Duration::ZERO, previous, base_station }
}

#[test]
fn sizes_are_those_of_the_rfcs_and_drafts() {
    let update = |forward| Kind::BindingUpdate { care_of: HERE, lifetime: Duration::ZERO, forward };
    let reply = Kind::RegistrationReply { code: ReplyCode::ACCEPTED, lifetime: Duration::ZERO };
    assert_eq!((request(&[]).size(), request(&[HERE]).size()), (Bytes(52), Bytes(82)));
    assert_eq!((reply.size(), update(None).size()), (Bytes(48), Bytes(48)));
    assert_eq!(update(Some(true)).size(), Bytes(52));
    assert_eq!(Kind::BindingWarning { target: HERE }.size(), Bytes(40));
    assert_eq!(Kind::BindingAcknowledge.size(), Bytes(44));
}

#[test]
fn codes_0_and_1_accept() {
    assert!(ReplyCode(0).accepted() && ReplyCode(1).accepted());
    assert!(!ReplyCode::PENDING_TIMEOUT.accepted() && !ReplyCode::IDENTIFICATION_MISMATCH.accepted());
}
