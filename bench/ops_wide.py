"""./x bench ops-wide: functions at many shapes, forward and gradient, compared with PyTorch eager and torch.compile.
It finds functions that are slower than PyTorch on this machine, so it ends with the worst rows.

A row is a pair of definitions of one name, in bench/programs/ops_wide.shf and in bench/peer_torch_ops.py. Both sides
make the same inputs and print sums of their results: if these disagree the row failed, whatever its times.
"""

import json
import math
import os
import statistics
import subprocess
import tempfile
import threading

from measure import why_failed
from peers import torch_python
from settings import BENCH, GIVEN, OPTIONS, SHEAF, program, rounds

NAME = "ops-wide"
OWN = {"--modes": "eager,compile", "--budget": "150"}  # defaults of these options
SILENCE_S = 300  # after which a process is ended
TOLERANCE = {":f32": 1e-5, ":bf16": 4e-3}  # relative to the sum of magnitudes; other dtypes are exact
EXACT = 1e-12  # sums in f64
SLOWER, WORST = 0.95, 30


def option(name):
    return GIVEN.get(name) or OWN[name]


def all_names():
    return subprocess.run(
        [SHEAF, program("ops_wide"), "--", "list"], capture_output=True, text=True, check=True
    ).stdout.split()


def family(name):
    return name.split("/")[0]


def find(word):
    """The rows that ops-wide, ops-wide/FAMILY or the name of a row selects; none if it selects nothing here."""
    names = all_names()
    if word == NAME:
        return names
    return [name for name in names if name == word or f"{NAME}/{family(name)}" == word]


def printed(command, names, mode):
    """The output of a process for each row. If it ends or falls silent, that row has failed, and the later rows get a
    new process."""
    while names:
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen([*command, *names], stdout=subprocess.PIPE, stderr=errors, text=True) as child,
        ):
            silent = threading.Event()
            while line := line_in_time(child, silent):
                if not line.startswith("{"):
                    continue
                found = json.loads(line)
                names = names[names.index(found["work"]) + 1 :]
                yield found
            _, status, _ = os.wait4(child.pid, 0)
            child.returncode = status
            errors.seek(0)
            said = f"took more than {SILENCE_S} s" if silent.is_set() else why_failed(status, errors.read())
        if names:
            yield {"work": names[0], "mode": mode, "error": said}
            names = names[1:]


def line_in_time(child, silent):
    """The next line; "" at the end, where `silent` is set if the process was ended for its silence."""

    def end():
        silent.set()
        child.kill()

    timer = threading.Timer(SILENCE_S, end)
    timer.start()
    line = child.stdout.readline()
    timer.cancel()
    return line


def ours(names):
    for name in names:
        yield from printed([SHEAF, program("ops_wide"), "--", option("--budget")], [name], "ours")


def theirs(names, mode):
    threads = str(len(os.sched_getaffinity(0)))
    command = [torch_python(), os.path.join(BENCH, "peer_torch_ops.py"), option("--budget"), mode, threads]
    return printed(command, names, mode)


def difference(ours, theirs, tolerance):
    """The difference between the answers; "" if they agree."""
    if len(ours) != len(theirs):
        return f"{len(ours)} and {len(theirs)} results"
    for (dtype, *a), b in zip(ours, theirs):
        limit = tolerance or TOLERANCE.get(dtype, EXACT)
        if None in a or not all(map(math.isfinite, [*a, *b])):
            return f"{a} and {b}"
        off = max(abs(x - y) for x, y in zip(a, b)) / (max(a[1], b[1]) or 1)
        if off > limit:
            return f"by {off:.1e} of the magnitudes, {limit:.0e} is allowed"
    return ""


def row(name, runs):
    """The row made of the output of each side. `failed` says why there is no time, or why it is meaningless."""
    errors = [f"{side}: {r['error']}" for side, found in runs.items() for r in found if "error" in r]
    wrong = [
        f"answers differ, {side}: {different}"
        for side, found in runs.items()
        for mine, r in zip(runs["ours"], found)
        if side != "ours" and "error" not in mine | r
        if (different := difference(mine["answers"], r["answers"], mine["tolerance"]))
    ]
    notes = "; ".join(dict.fromkeys(errors + wrong))
    times = {
        side: statistics.median(r["ms"] for r in found)
        for side, found in runs.items()
        if not any("error" in r for r in found)
    }
    modes = {f"torch {side}": ms for side, ms in times.items() if side != "ours"}
    if wrong or "ours" not in times or (errors and not modes):
        return {"work": name, "failed": notes}
    found = {"work": name, "ours_ms": times["ours"], "peer": "", "floor_pct": None, "modes_ms": modes}
    found["first_ms"] = {side: statistics.median(r["first_ms"] for r in runs[side]) for side in times}
    found |= {"note": notes} if notes else {}
    if not modes:
        return found
    best = min(modes, key=modes.get)
    return found | {"peer": best, "peer_ms": modes[best], "ratio": modes[best] / times["ours"]}


def measured(names):
    """The rows, family by family; prints a summary if there are several."""
    rows = []
    modes = option("--modes").split(",") if "torch" in OPTIONS["--peers"] else []
    for kind in dict.fromkeys(map(family, names)):
        mine = [name for name in names if family(name) == kind]
        runs = {name: {} for name in mine}
        for _ in rounds():
            for side in ["ours", *modes]:
                for found in ours(mine) if side == "ours" else theirs(mine, side):
                    runs[found["work"]].setdefault(side, []).append(found)
        for name in mine:
            rows.append(row(name, runs[name]))
            yield rows[-1]
    if len(rows) > 1:
        summarize(rows)


def summarize(rows):
    compared = sorted((r for r in rows if "ratio" in r), key=lambda r: r["ratio"])
    slower = sum(r["ratio"] < SLOWER for r in compared)
    failed = sum("failed" in r for r in rows)
    print(f"\n{len(rows)} rows, {failed} failed, {slower} below {SLOWER}x; the worst:")
    for r in compared[:WORST]:
        print(f"{r['work']:<44} {r['ours_ms']:>12.4f} {r['peer']:<14} {r['peer_ms']:>12.4f} {r['ratio']:>7.2f}x")
