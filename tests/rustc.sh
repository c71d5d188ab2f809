#!/bin/sh
# The compiler of the project's crates in `make test`: Clippy, which lints and compiles. It does not optimise these test
# programs: they run little of their own code, and are compiled in a third of the time.
case " $* " in
  *" --test "*) test=yes ;;
  *) test=no ;;
esac
case $test:$3 in
  yes:runs | yes:roamlab_world | yes:roamlab_qdisc | yes:roamlab_capture) set -- "$@" -C opt-level=0 ;;
esac
exec clippy-driver "$@"
