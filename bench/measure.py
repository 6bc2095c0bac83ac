"""Running programs and timing them."""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from settings import BUILD


class Failed(Exception):
    """A program failed; the text says which and why, in one line."""

    def __init__(self, command, why):
        program = " ".join(os.path.basename(word) for word in command[:2])
        super().__init__(f"{program}: {why}")


def why_failed(status, errors):
    """The signal that ended a program, or the last line that it wrote."""
    if os.WIFSIGNALED(status):
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    lines = errors.strip().splitlines()
    return lines[-1] if lines else f"exit status {os.waitstatus_to_exitcode(status)}"


def run_measured(command):
    """Its output on both streams, and its peak memory in MB. Raises Failed."""
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as child,
    ):
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        errors.seek(0)
        text = errors.read()
    if status:
        raise Failed(command, why_failed(status, text))
    return out, text, usage.ru_maxrss / 1024


def first_steps(command, environment):
    """Seconds of a program that announces when it is ready and each of its first ten steps: from the command to the
    tenth, and those of the ten. Raises Failed."""
    begin = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **environment}
    ) as child:
        stamps = [time.perf_counter() for line in child.stdout if line.strip() in ("ready", "step")]
    if child.returncode or len(stamps) != 11:
        raise Failed(command, f"announced {len(stamps)} lines, status {child.returncode}")
    return {"to_step_10_s": stamps[-1] - begin, "ten_steps_s": stamps[-1] - stamps[0]}


def wall_ms(command):
    start = time.perf_counter()
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return (time.perf_counter() - start) * 1e3, out


def printed_ms(command):
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return float(out), None


def compare(work, ours, peers, measure, runs=7, same_answer=True):
    """One row per peer; their runs are interleaved, so that noise affects all alike."""
    times = {name: [] for name in ["ours", *peers]}
    answers = {}
    for _ in range(runs):
        for name, command in [("ours", ours), *peers.items()]:
            ms, answers[name] = measure(command)
            times[name].append(ms)
    if same_answer and len(set(answers.values())) > 1:
        sys.exit(f"{work}: answers differ: {answers}")
    ours_ms = statistics.median(times["ours"])
    rows = []
    for name in peers:
        peer_ms = statistics.median(times[name])
        rows.append(
            {
                "work": work,
                "ours_ms": ours_ms,
                "peer": name,
                "peer_ms": peer_ms,
                "ratio": peer_ms / ours_ms,
                "floor_pct": None,
            }
        )
    return rows or [{"work": work, "ours_ms": ours_ms, "peer": None, "peer_ms": None, "ratio": None, "floor_pct": None}]


def built(target):
    """The path of a program in the build folder."""
    command = ["cmake", "--build", BUILD, "--target", target]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as build:
        for line in build.stdout:
            if line != "ninja: no work to do.\n":
                sys.stderr.write(line)
    if build.returncode:
        sys.exit(f"bench: {target} cannot be built")
    return os.path.join(BUILD, target)


best_peak = {}


def peak():
    """The best measurement so far: other programs can only make it worse. Call it from time to time."""
    command = built("bench_peak")
    for _ in range(3):
        for line in subprocess.run([command], capture_output=True, text=True, check=True).stdout.splitlines():
            name, value = line.split()
            best_peak[name] = max(best_peak.get(name, 0), float(value))
    return best_peak
