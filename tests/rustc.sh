#!/bin/sh
# The compiler of the project's crates in `make test`: Clippy, which lints and compiles. It does not optimise the test
# programs of these crates: they run little of their own code, and are compiled in a third of the time.
case $3 in
  runs | roamlab_world | roamlab_mobility | roamlab_qdisc | roamlab_capture | roamlab_analysis | roamlab_traffic)
    case " $* " in *" --test "*) set -- "$@" -C opt-level=0 ;; esac
    ;;
esac
exec clippy-driver "$@"
