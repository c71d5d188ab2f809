"""The start of the program. An interrupt (Ctrl-C) ends it with exit code 130 and without a traceback."""

# These are in the interpreter when it starts: the handler is there before any module is read. `signal` reads `enum`.
import _signal  # type: ignore[import-not-found]
import gc
import os
import sys

_interrupted = False


def _leave(*_: object) -> None:
    """While modules are imported nothing has begun that would have to be ended."""
    os.write(2, b"interrupted\n")
    os._exit(130)


if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _leave)

# Matrices are small. The threads of numpy's library take more processor time than they save, and runs want it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Imported modules are some 85,000 objects that stay. Looking for garbage among them again after each 700 new ones
# takes a tenth of the time of the imports.
gc.set_threshold(100_000)


def _interrupt(_number: int, frame: object) -> None:
    """Raise `KeyboardInterrupt`, but not within Polars: its engine calls functions of it, and would panic."""
    global _interrupted
    place = getattr(frame, "f_globals", {}).get("__name__", "")
    if str(place).partition(".")[0] == "polars":
        _repeat()
        return
    _interrupted = True
    raise KeyboardInterrupt


def _repeat() -> None:
    """Interrupt again a moment later: by a signal to the main thread, which ends what it waits for."""
    from threading import Timer, main_thread

    again = Timer(0.05, _signal.pthread_kill, (main_thread().ident, _signal.SIGINT))
    again.daemon = True
    again.start()


def _unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """An interrupt in a callback of the interpreter, which cannot pass it on, comes again."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _repeat()
    else:
        sys.__unraisablehook__(unraisable)


def main() -> None:
    """Run the command line. What a module makes of an interrupt, such as an `ImportError`, is an interrupt."""
    # Not `from roamlab import cli`: that asks the package for the name first, which imports more.
    import roamlab.cli as cli

    if _signal.getsignal(_signal.SIGINT) is _leave:
        sys.unraisablehook = _unraisable
        _signal.signal(_signal.SIGINT, _interrupt)
    try:
        cli.main()
    except SystemExit:
        raise
    except BaseException:
        if not _interrupted:
            raise
        cli.interrupted()
    finally:
        # The result is there, or the failure reported: the process only has to end, without a search for garbage.
        gc.freeze()
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)


if __name__ == "__main__":
    main()
