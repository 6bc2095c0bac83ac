"""The cost of compiling: training steps cold, with the code on disk, and after an edit at the prompt."""

import os
import re
import statistics
import subprocess
import sys
import tempfile

from measure import run_measured
from settings import PROGRAMS, SHEAF, program, rounds


def compile_run(name, arguments, cache):
    """Milliseconds spent on compiling, by phase, and the peak of memory in MB."""
    _, text, rss_mb = run_measured(
        [SHEAF, "--jit-profile", "--cache-dir", cache, program(name), "--", *map(str, arguments)]
    )
    return {phase: float(ms) for ms, phase in re.findall(r"([\d.]+) ms +\d+ times  compiling: (.*)", text)}, rss_mb


# Input at the prompt after nanoGPT has been trained for some steps: one step more, another MLP, and two steps with
# that.
REPL_LINES = """
(def state (first measured))
(def begin (now-ns)) (def state (step state x y)) (def same-ms (/ (- (now-ns) begin) 1e6))
(defn block [x p] (let [x (+ x (self-attention (layer-norm x (get p :ln1) -1) p))] (+ x (dense (silu (dense (layer-norm x (get p :ln2) -1) (get p :up))) (get p :down)))))
(def begin (now-ns)) (def state (step state x y)) (def edited-ms (/ (- (now-ns) begin) 1e6))
(def begin (now-ns)) (def state (step state x y)) (def second-ms (/ (- (now-ns) begin) 1e6))
(def settled (second (measure state (list) 1000.0)))
(print "edit {:.2f} {:.2f} {:.2f} {:.2f}" same-ms edited-ms second-ms settled)
"""


def repl_edit():
    """The extra time of the next step of nanoGPT after its layer was changed at the prompt."""
    with open(program("gpt_train")) as f:
        text = f.read().replace("(map parse-int (args))", "(list 65 256 6 6 384 1 0 0)")
    runs = []
    for _ in rounds():
        with tempfile.TemporaryDirectory() as cache:
            out = subprocess.run(
                [SHEAF, "--cache-dir", os.path.join(cache, "code")],
                input=text + REPL_LINES,
                capture_output=True,
                text=True,
                cwd=PROGRAMS,
            )
        found = re.search("^edit (.*)$", out.stdout, re.M)
        if not found:
            sys.exit(f"the prompt did not get to the end\n{out.stdout}\n{out.stderr}")
        runs.append([float(x) for x in found[1].split()])
    same, edited, after, settled = (statistics.median(r) for r in zip(*runs))
    return {
        "work": "compile/nanogpt-char edited at the prompt",
        "ours_ms": edited - settled,
        "peer": None,
        "note": f"over a step of {settled:.1f}; before the edit {same:.1f}, behind it {edited:.1f}, then {after:.1f}",
    }


def compile_time():
    programs = {
        "perceptron": ("perceptron", []),
        "nanogpt-char": ("gpt_train", [65, 256, 6, 6, 384, 4, 0, 0]),
        "gpt2-124m": ("gpt_train", [50257, 64, 12, 12, 768, 1, 1, 0]),
    }
    for work, (name, arguments) in programs.items():
        times = {"cold": [], "cached": []}
        for _ in rounds():
            with tempfile.TemporaryDirectory() as cache:
                for start in times:
                    times[start].append(compile_run(name, arguments, os.path.join(cache, "code"))[0])
        for start, runs in times.items():
            phases = {p: statistics.median(r.get(p, 0) for r in runs) for p in {p for r in runs for p in r}}
            note = ", ".join(f"{p} {ms:.1f}" for p, ms in sorted(phases.items(), key=lambda x: -x[1]))
            yield {
                "work": f"compile/{work} {start}",
                "ours_ms": statistics.median(sum(r.values()) for r in runs),
                "peer": None,
                "note": note,
            }
    yield repl_edit()
    # The graph of GPT-2 over arrays that take no memory: the remaining memory is the compiler's.
    with tempfile.TemporaryDirectory() as cache:
        _, mb = compile_run("gpt_train", [65, 64, 12, 12, 48, 1, 1, 0], os.path.join(cache, "code"))
    yield {"work": "compile/peak MB, 12 layers", "ours_ms": mb, "peer": None, "note": "memory, not time"}
