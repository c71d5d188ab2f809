//! Packets of the host: they are delivered once and in order, whatever the procedure.

use super::conditional;
use super::lab::Lab;

const UP: &str = r#"
[[flows]]
name = "up"
path = ["ue", "server"]
app = { kind = "cbr", start = "1.5 s", rate = "800 kbit/s", packet = "500 B" }
"#;

#[test]
fn nothing_from_the_host_is_lost_or_out_of_order() {
    let reestablished = Lab {
        radio: "t310 = \"240 ms\"\nslope_db_per_s = 4000.0".into(),
        measurement: "offset_db = 15.0, time_to_trigger = \"5120 ms\"",
        bearer: ", t_poll_retransmit = \"4 s\"".into(),
        ..Lab::with("nonstandard = true")
    };
    let labs = [
        Lab::default(),
        Lab { xn: false, ..Lab::with("procedure = \"n2\"\nforwarding = \"indirect\"") },
        conditional::lab(""),
        conditional::lab("candidate_forwarding = \"early\""),
        Lab::with("daps = true"),
        reestablished,
    ];
    for lab in labs {
        let run = Lab { more: UP.into(), ..lab.clone() }.run();
        let lost: Vec<_> = run.0.lost("up").collect();
        assert!(lost.is_empty(), "{lab:?}: {lost:?}\n{}", run.chart());
        let order: Vec<u64> = run.0.delivered("up").map(|delivery| delivery.seq).collect();
        assert!(order.len() > 600 && order.is_sorted(), "{lab:?}");
        assert_eq!(run.0.total("up", "duplicate_pkts"), 0, "{lab:?}");
    }
}
