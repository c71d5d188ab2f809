# Sourced before a scenario: puts it on a grid of 2^-30 s. Each nanosecond of its delays, transmissions, timers and plans
# becomes 2^-30 s. Doubles hold their sums exactly, so that rounding errors order nothing.
source [file dirname [info script]]/exact_times.tcl
proc on_grid {seconds} {
    return [format %.17g [expr {round($seconds * 1e9) * pow(2, -30)}]]
}
# The rate at which a byte takes the same whole number of units, and ns-2 computes it so: its quotient of doubles is exact
# for all sizes, and RED counts n packets of mean_pktsize_ in the time of n. 12 Mbit/s is no such rate: 12.5 Mbit/s is.
proc rate_on_grid {rate mean} {
    if {$rate == 12e6} { set rate 12.5e6 }
    set byte [expr {round(8e9 / $rate) * pow(2, -30)}]
    foreach step {0 1 -1 2 -2 3 -3 4 -4} {
        set candidate [expr {8.0 / $byte * (1 + $step * pow(2, -52))}]
        set exact 1
        foreach size {40 48 56 64 512 522 552 562 1460 1500} {
            if {8.0 * $size / $candidate != $size * $byte} { set exact 0 }
        }
        for {set n 1} {$exact && $mean > 0 && $n < 5000} {incr n} {
            if {int($candidate / (8.0 * $mean) * ($n * $mean * $byte)) != $n} { set exact 0 }
        }
        if {$exact} { return [format %.17g $candidate] }
    }
    error "no double is $rate bit/s"
}
Simulator instproc plain_at [Simulator info instargs at] [Simulator info instbody at]
set planning 1
Simulator instproc at {time args} {
    if {$::planning} { set time [on_grid $time] }
    return [eval [list $self plain_at $time] $args]
}
Simulator instproc plain_run [Simulator info instargs run] [Simulator info instbody run]
Simulator instproc run {} {
    $self instvar link_
    foreach ends [array names link_] {
        set queue [$link_($ends) queue]
        set mean [expr {[$queue info class] == "Queue/RED" ? [$queue set mean_pktsize_] : 0}]
        set link [$link_($ends) link]
        if {[info exists ::no_delay]} {
            $link set bandwidth_ 2e6
            $link set delay_ 0
        }
        $link set bandwidth_ [rate_on_grid [$link set bandwidth_] $mean]
        $link set delay_ [on_grid [$link set delay_]]
    }
    foreach flow $::flows {
        set tcp [lindex $flow 1]
        foreach time {tcpTick_ minrto_ maxrto_ rtxcur_init_} { $tcp set $time [on_grid [$tcp set $time]] }
    }
    set ::planning 0
    $self plain_run
}
