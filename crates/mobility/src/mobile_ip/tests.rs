//! The roles together on a small message bus, and each role's transition table.

mod bus;
mod chart;
mod table;
mod trouble;

use super::{BeaconTiming, BufferAt, Params, RoTrigger};
use roamlab_engine::Duration;

#[test]
fn parameters_are_read_with_units_and_unknown_fields_are_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    assert_eq!(read("{}")?, Params::default());
    let written = serde_json::to_string(&Params::default())?;
    assert_eq!(read(&written)?, Params::default());
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
    assert_eq!(Params::default().check(), Ok(()));
    Ok(())
}
