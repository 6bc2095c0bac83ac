"""Busy machines: the same step alone, next to a process that keeps one core busy, and next to a copy of itself. On n
cores the lost capacity alone costs a factor of 2n / (2n - 1) next to one busy process, which gets half of its core, and
of 2 next to a copy; the notes have the times of each side."""

import contextlib
import os
import signal
import subprocess
import sys

from measure import Failed, run_measured
from models import CACHED, MODELS, median_each, our_ms
from settings import rounds

WORKS = ["mlp-1024-b256", "train/makemore-transformer-b32", "train/nanogpt-char-b4", "train/gpt2-124m-b1-t64", CACHED]


@contextlib.contextmanager
def company(command, cores=None):
    """Runs another program during the measurement, on `cores` if they are given."""
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=cores and (lambda: os.sched_setaffinity(0, cores)),
    ) as other:
        try:
            yield
        finally:
            os.killpg(other.pid, signal.SIGKILL)


def one_core_busy(_):
    return company([sys.executable, "-c", "while True: pass"], {max(os.sched_getaffinity(0))})


def copy_of(command):
    """Restarts it repeatedly: one run may end before the measurement does."""
    return company(["/bin/sh", "-c", 'while "$@"; do :; done', "sh", *command])


STATES = {"quiet": contextlib.nullcontext, "one core busy": one_core_busy, "beside a copy": copy_of}


def milliseconds(figures):
    return {side: found["ms"] for side, found in figures if "ms" in found}


def measure(work):
    """Medians by state and side, and the sides that failed."""
    model = MODELS[work](work)
    sides = [(None, model.command())] + [(peer, peer.command) for peer in model.opponents]
    found, failed = {state: {} for state in STATES}, []
    for _ in rounds():
        for peer, command in list(sides):
            try:
                for state, beside in STATES.items():
                    with beside(command):
                        out, _, _ = run_measured(command)
                    times = {"ours": our_ms(out)} if peer is None else milliseconds(peer.figures(out))
                    for side, ms in times.items():
                        found[state].setdefault(side, []).append(ms)
            except Failed as failure:
                failed.append(str(failure))
                sides.remove((peer, command))
    return {state: median_each(by_side) for state, by_side in found.items()}, failed


def rows(work):
    """One row per state. The peer is the fastest one in that state."""
    found, failed = measure(work)
    for state, times in found.items():
        slower = "; ".join(f"{side} {ms / found['quiet'][side]:.2f}x of quiet" for side, ms in times.items())
        theirs = {side: ms for side, ms in times.items() if side != "ours"}
        row = {"work": f"{work}, {state}", "ours_ms": times["ours"], "peer": "", "floor_pct": None}
        if theirs:
            best = min(theirs, key=theirs.get)
            row |= {"peer": best, "peer_ms": theirs[best], "ratio": theirs[best] / times["ours"]}
        yield row | {"note": "; ".join(([] if state == "quiet" else [slower]) + failed), "modes_ms": theirs}


def table():
    for work in WORKS:
        yield from rows(work)
