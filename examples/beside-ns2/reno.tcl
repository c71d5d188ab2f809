# One Reno transfer through a drop-tail queue that overflows: the packet trace (reno.tr), the sender's variables in both
# forms in which ns-2 writes them (reno.var, reno.agent) and xgraph's input (reno.xg), 2 s each.
# The rates have no common multiple within the run: no arrival falls on the instant of a departure.
set ns [new Simulator]
set trace [open reno.tr w]
$ns trace-all $trace
for {set i 0} {$i < 3} {incr i} { set n($i) [$ns node] }
$ns duplex-link $n(0) $n(1) 10Mb 2ms DropTail
$ns duplex-link $n(1) $n(2) 1.7Mb 40ms DropTail
$ns queue-limit $n(0) $n(1) 1000
$ns queue-limit $n(1) $n(2) 20
set tcp [new Agent/TCP/Reno]
set sink [new Agent/TCPSink]
$tcp set packetSize_ 512
$tcp set window_ 64
$tcp set fid_ 7
$ns attach-agent $n(0) $tcp
$ns attach-agent $n(2) $sink
$ns connect $tcp $sink
set variables [open reno.var w]
set writer [new Trace/Var]
$writer attach $variables
$tcp trace cwnd_ $writer
$tcp trace ssthresh_ $writer
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.1 "$ftp start"
set xg [open reno.xg w]
puts $xg "TitleText: reno"
puts $xg "\"7 cwnd"
proc sample {} {
    global ns tcp xg
    puts $xg "[$ns now] [$tcp set cwnd_]"
    $ns at [expr [$ns now] + 0.05] sample
}
$ns at 0.2 sample
if {[info exists argv] && [lindex $argv 0] == "agent"} {
    set own [open reno.agent w]
    $tcp attach $own
    $tcp trace cwnd_
}
$ns at 2.0 {
    close $trace; close $variables; close $xg
    exit 0
}
$ns run
