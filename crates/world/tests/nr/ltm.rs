//! Switches between distributed units of one central unit: L1/L2-triggered mobility, and handover without it.

use super::units::Units;

#[test]
fn the_worked_example_of_ltm() {
    let run = Units::default().run();
    println!("{}", run.chart());
    for k in -2..18 {
        println!("{k} {}", run.packet(k) - 500);
    }
    run.assert_flawless();
}
