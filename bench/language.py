"""Rows of the language itself: interpreting, starting, calling, tokenizing."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from measure import built, compare, printed_ms, wall_ms
from peers import tokenizers_python, torch_python
from settings import OPTIONS, PROGRAMS, ROOT, SHEAF, program, rounds


def interp():
    for name in ["fib", "loop", "list", "dict"]:
        path = os.path.join(PROGRAMS, name)
        peers = {"cpython": [sys.executable, path + ".py"]}
        if shutil.which("lua5.4"):
            peers["lua5.4"] = ["lua5.4", path + ".lua"]
        yield from compare("interp/" + name, [SHEAF, path + ".shf"], peers, wall_ms)


def start():
    return compare("start", [SHEAF, "-c", "1"], {"cpython": [sys.executable, "-c", "print(1)"]}, wall_ms, runs=21)


def overhead():
    yield from compare("overhead/eager 4x4", [SHEAF, program("small_op")], {}, printed_ms)
    yield from compare("overhead/compiled call", [SHEAF, program("tiny_call")], {}, printed_ms)
    command = built("bench_overhead")
    runs = [
        dict(
            line.split()
            for line in subprocess.run([command], capture_output=True, text=True, check=True).stdout.splitlines()
        )
        for _ in range(5)
    ]
    for name in runs[0]:
        yield {
            "work": "overhead/" + name,
            "ours_ms": statistics.median(float(r[name]) for r in runs) / 1000,
            "peer": None,
        }


def perceptron():
    path = os.path.join(PROGRAMS, "perceptron")
    return compare(
        "train/perceptron",
        [SHEAF, path + ".shf"],
        {f"torch {OPTIONS['--torch']} eager": [torch_python(), path + ".py"]},
        printed_ms,
        runs=5,
        same_answer=False,
    )


def sources_of_python(size):
    """The text of Python's own library, up to about `size` characters."""
    text = ""
    for folder, folders, files in os.walk(os.path.dirname(os.__file__)):
        folders[:] = sorted(f for f in folders if f != "site-packages")
        for name in sorted(files):
            if name.endswith(".py") and len(text) < size:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                    text += f.read()
    return text[:size]


def tokenizers():
    """10 MB of text by each family of test/tokenizers/goldens, and its paragraphs as a batch with the offsets of
    tokens; loading is not counted. The peer gets the text in whichever way suits it best: whole, or its lines in
    batches over all cores."""
    python = tokenizers_python()
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "text.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write(sources_of_python(10_000_000))
        for family in ["gpt2", "llama3", "bert", "t5"]:
            document = os.path.join(ROOT, "test", "tokenizers", "goldens", family + ".json")
            times, counts = {}, {}
            for _ in rounds():
                for command in [
                    [SHEAF, program("tokenize"), "--", document, path],
                    [python, os.path.join(PROGRAMS, "tokenizers_peer.py"), document, path],
                ]:
                    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
                        how, ms, count = line.split()
                        times.setdefault(how, []).append(float(ms))
                        # Texts that are cut at different places may have different ids.
                        counts.setdefault({"ours": "whole"}.get(how, how.removeprefix("ours-")), set()).add(count)
            if any(len(c) > 1 for c in counts.values()):
                sys.exit(f"tokenizers/{family}: answers differ: {counts}")
            for work, ours, peers in [
                (f"tokenizers/{family} 10 MB", "ours", ["whole", "lines"]),
                (f"tokenizers/{family} 10 MB, offsets", "ours-offsets", ["offsets"]),
            ]:
                ours_ms = statistics.median(times[ours])
                how, peer_ms = min(((h, statistics.median(times[h])) for h in peers), key=lambda x: x[1])
                yield {
                    "work": work,
                    "ours_ms": ours_ms,
                    "peer": f"tokenizers {how}",
                    "peer_ms": peer_ms,
                    "ratio": peer_ms / ours_ms,
                    "floor_pct": None,
                }
