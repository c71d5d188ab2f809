# Sourced before a scenario: beside its packet trace, in whole microseconds, ns-2 writes nam's, with 15 digits.
Simulator instproc plain_trace_all [Simulator info instargs trace-all] [Simulator info instbody trace-all]
Simulator instproc trace-all {file} {
    $self plain_trace_all $file
    $self namtrace-all [open $::P(out).nam w]
}
