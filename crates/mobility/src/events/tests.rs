//! Values that the standards can signal, and those that they cannot.

use super::*;

fn refused(change: impl FnOnce(&mut ReportConfig)) -> Option<&'static str> {
    let mut event = ReportConfig::default();
    change(&mut event);
    event.check().err().map(|(field, _)| field)
}

#[test]
fn only_what_the_standard_can_signal_is_accepted() {
    assert_eq!(refused(|_| ()), None);
    assert_eq!(refused(|event| event.offset_db = -15.0), None);
    assert_eq!(refused(|event| event.offset_db = -15.5), Some("offset_db"));
    assert_eq!(refused(|event| event.offset_db = 0.3), Some("offset_db"));
    assert_eq!(refused(|event| event.offset_db = f64::NAN), Some("offset_db"));
    assert_eq!(refused(|event| event.hysteresis_db = -0.5), Some("hysteresis_db"));
    assert_eq!(refused(|event| event.hysteresis_db = 15.0), None);
    assert_eq!(refused(|event| event.time_to_trigger = Duration::from_millis(60)), Some("time_to_trigger"));
    assert_eq!(refused(|event| event.time_to_trigger = Duration::ZERO), None);
    assert_eq!(refused(|event| event.filter_coefficient = 10), Some("filter_coefficient"));
    assert_eq!(refused(|event| event.report_interval = Some(Duration::ZERO)), Some("report_interval"));
}

/// The events of a list, and what is wrong with them.
fn read(list: &str) -> Result<Events, String> {
    serde_json::from_str(list).map_err(|error| error.to_string())
}

fn fault(list: &str) -> Option<String> {
    read(list).unwrap().check().err().map(|(field, _)| field)
}

#[test]
fn events_are_tables_of_a_list() {
    let ms = Duration::from_millis;
    assert_eq!(read(r#"[{ "kind": "a3" }]"#), Ok(Events::default()));
    let list = r#"[
        { "kind": "a5", "threshold1_dbm": -110.0, "threshold2_dbm": -100.0, "time_to_trigger": "40 ms" },
        { "kind": "d1", "distance1_m": 500.0, "distance2_m": 600.0, "reference1": [0.0, 10.0] }
    ]"#;
    let a5 =
        A5 { threshold1_dbm: -110.0, threshold2_dbm: -100.0, hysteresis_db: 0.0, time_to_trigger: ms(40) };
    let d1 = D1 {
        distance1_m: 500.0,
        distance2_m: 600.0,
        reference1: Reference::Point([0.0, 10.0]),
        reference2: Reference::Cell(ReferenceCell::Neighbour),
        hysteresis_m: 0.0,
        time_to_trigger: ms(100),
    };
    let events = Events(vec![Event::A5(a5), Event::D1(d1)]);
    assert_eq!(read(list), Ok(events.clone()));
    let written = serde_json::to_string(&events).unwrap();
    assert_eq!(read(&written), Ok(events), "what is written is read: {written}");
    for (wrong, expected) in [
        (r#"[{ "kind": "a6" }]"#, "unknown variant `a6`"),
        (r#"[{ "kind": "a4" }]"#, "missing field `threshold_dbm`"),
        (
            r#"[{ "kind": "t1", "t1_threshold": "1 s", "duration": "1 s", "time_to_trigger": "40 ms" }]"#,
            "unknown field `time_to_trigger`",
        ),
        (
            r#"[{ "kind": "d1", "distance1_m": 0.0, "distance2_m": 50.0, "reference2": "here" }]"#,
            "unknown variant `here`, expected `serving` or `neighbour`",
        ),
    ] {
        let error = read(wrong).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn each_event_is_checked_by_what_can_be_signalled() {
    let one = |kind: &str, fields: &str| {
        let found = fault(&format!(r#"[{{ "kind": "{kind}", {fields} }}]"#));
        found.map(|field| field.trim_start_matches("[0].").to_owned()).unwrap_or_default()
    };
    assert_eq!(one("a3", r#""offset_db": 15.5"#), "offset_db");
    assert_eq!(one("a3", r#""time_to_trigger": "41 ms""#), "time_to_trigger");
    assert_eq!(one("a4", r#""threshold_dbm": -156.0"#), "");
    assert_eq!(one("a4", r#""threshold_dbm": -29.0"#), "threshold_dbm");
    assert_eq!(one("a4", r#""threshold_dbm": -90.5"#), "threshold_dbm");
    let a5 = |first: f64, second: f64| {
        one("a5", &format!(r#""threshold1_dbm": {first}, "threshold2_dbm": {second}, "hysteresis_db": 0.5"#))
    };
    assert_eq!(a5(-110.0, -30.0), "");
    assert_eq!(a5(-157.0, -30.0), "threshold1_dbm");
    assert_eq!(a5(-110.0, 0.0), "threshold2_dbm");
    let d1 = |near: f64, far: f64, more: &str| {
        one("d1", &format!(r#""distance1_m": {near}, "distance2_m": {far}{more}"#))
    };
    assert_eq!(d1(0.0, 3_276_250.0, ""), "");
    assert_eq!(d1(25.0, 50.0, ""), "distance1_m");
    assert_eq!(d1(50.0, 3_276_300.0, ""), "distance2_m");
    assert_eq!(d1(50.0, 50.0, r#", "hysteresis_m": 5.0"#), "hysteresis_m");
    assert_eq!(d1(50.0, 50.0, r#", "time_to_trigger": "1 ms""#), "time_to_trigger");
    let t1 = |duration: &str| one("t1", &format!(r#""t1_threshold": "1.5 s", "duration": "{duration}""#));
    assert_eq!(["100 ms", "600 s"].map(t1), ["", ""]);
    assert_eq!(["0 s", "150 ms", "600.1 s"].map(t1), ["duration"; 3]);
}

#[test]
fn a_condition_has_one_or_two_events_and_one_of_place_or_time_at_most() {
    let a3 = r#"{ "kind": "a3" }"#;
    let d1 = r#"{ "kind": "d1", "distance1_m": 50.0, "distance2_m": 50.0 }"#;
    let t1 = r#"{ "kind": "t1", "t1_threshold": "1 s", "duration": "1 s" }"#;
    let list = |events: &[&str]| fault(&format!("[{}]", events.join(",")));
    for right in [&[a3][..], &[a3, a3], &[d1], &[t1, a3], &[a3, d1]] {
        assert_eq!(list(right), None);
    }
    assert_eq!(list(&[]), Some(String::new()));
    assert_eq!(list(&[a3, a3, a3]), Some(String::new()));
    assert_eq!(list(&[d1, t1]), Some("[1].kind".into()));
    let of_positions = |events: &[&str]| read(&format!("[{}]", events.join(","))).unwrap().of_positions();
    assert_eq!((of_positions(&[a3, d1]), of_positions(&[a3, t1])), (Some(1), None));
}

#[test]
fn the_window_of_event_t1_has_its_last_instant() {
    let window =
        read(r#"[{ "kind": "a3" }, { "kind": "t1", "t1_threshold": "1 s", "duration": "2 s" }]"#).unwrap();
    let allowed = [1_000, 1_001, 3_000, 3_001].map(|ms| window.allow(Time::ZERO + Duration::from_millis(ms)));
    assert_eq!(allowed, [false, true, true, false]);
    assert!(Events::default().allow(Time::ZERO));
}

#[test]
fn a_report_is_a_condition_of_event_a3() {
    let report = ReportConfig { offset_db: 2.0, ..ReportConfig::default() };
    let condition = report.condition("report", None);
    let a3 = A3 { offset_db: 2.0, hysteresis_db: 3.0, time_to_trigger: Duration::from_millis(256) };
    assert_eq!(condition.events, Events(vec![Event::A3(a3)]));
    assert_eq!((condition.filter_coefficient, condition.leaves_at_once), (4, false));
    assert_eq!(condition.report_interval, Some(Duration::from_millis(240)));
}
