"""OLMo-2 1B with random weights on disk: forwards within a process, and whole processes that start, load, and generate
16 tokens after a prompt of 4.

The weights are written on first use, 18 GB in build/olmo2: remove the folder when it is not needed any more.
"""

import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import time

import peers
from measure import run_measured
from models import row
from settings import BENCH, BUILD, ROOT, SHEAF, rounds

FOLDER = os.path.join(BUILD, "olmo2")
PEER = os.path.join(BENCH, "peer_process.py")
RUN = os.path.join(ROOT, "examples", "olmo2", "run.shf")
PROMPT, STEPS = [1, 42, 4242, 99], 16  # those of peer_process.py
NUMPY_TYPES = {"F32": "<f4", "BF16": "<V2"}


def weights(dtype):
    """A folder with model.safetensors."""
    folder = os.path.join(FOLDER, dtype)
    if not os.path.exists(folder):
        print(f"writing {folder} …", file=sys.stderr)
        subprocess.run([peers.torch_python(), PEER, "--make", folder + ".new", "--dtype", dtype], check=True)
        os.rename(folder + ".new", folder)
    return folder


PIECE = 1 << 20


def npy_folder(dtype):
    """The same as a folder of .npy files."""
    folder = os.path.join(FOLDER, dtype + "-npy")
    if os.path.exists(folder):
        return folder
    print(f"writing {folder} …", file=sys.stderr)
    os.makedirs(folder + ".new")
    with open(os.path.join(weights(dtype), "model.safetensors"), "rb") as f:
        (size,) = struct.unpack("<Q", f.read(8))
        for name, entry in json.loads(f.read(size)).items():
            shape = ", ".join(map(str, entry["shape"]))
            head = (
                f"{{'descr': '{NUMPY_TYPES[entry['dtype']]}', 'fortran_order': False, 'shape': ({shape},), }}".encode()
            )
            head += b" " * (-(len(head) + 11) % 64) + b"\n"
            begin, end = entry["data_offsets"]
            f.seek(8 + size + begin)
            with open(os.path.join(folder + ".new", name + ".npy"), "wb") as out:
                out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
                # In chunks: a process that is started from a large one counts that size as its own.
                for at in range(begin, end, PIECE):
                    out.write(f.read(min(PIECE, end - at)))
    os.rename(folder + ".new", folder)
    return folder


def prompt_file():
    path = os.path.join(FOLDER, "prompt.tokens.bin")
    with open(path, "wb") as f:
        f.write(struct.pack(f"<{len(PROMPT)}I", *PROMPT))
    return path


def size_mb(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)) / 2**20


def warm(folder):
    """Reads all of it into the page cache."""
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f, open(os.devnull, "wb") as nowhere:
            shutil.copyfileobj(f, nowhere, 1 << 24)


def timed(command):
    begin = time.perf_counter()
    out, _, rss_mb = run_measured(command)
    return (time.perf_counter() - begin) * 1e3, out, rss_mb


def our_tokens(out):
    """The tokens that were fed back, and the best after the last."""
    lines = [line.split() for line in out.splitlines() if " -> " in line]
    return [int(line[1]) for line in lines[len(PROMPT) :]] + [int(lines[-1][3])]


def process(work):
    """A whole process, from the command to its end. PyTorch reads the weights as safetensors in either row; the time of
    its import is shown separately."""
    _, dtype, files = work.rsplit("-", 2)
    folder = weights(dtype) if files == "safetensors" else npy_folder(dtype)
    ours = [SHEAF, RUN, "--", "--model", folder, "--steps", str(STEPS), prompt_file()]
    theirs = [peers.torch_python(), PEER, weights(dtype), "--threads", str(len(os.sched_getaffinity(0)))]
    warm(folder), warm(weights(dtype))
    mine, others, imports = [], [], []
    for _ in rounds():
        ms, out, rss_mb = timed(ours)
        mine.append(ms)
        ms, peer_out, peer_rss_mb = timed(theirs)
        others.append(ms)
        tokens, said = peer_out.splitlines()
        imports.append(json.loads(said)["import_s"])
        if dtype == "f32" and our_tokens(out) != [int(t) for t in tokens.split()]:
            sys.exit(f"{work}: tokens differ: {our_tokens(out)} and {tokens}")
    ours_ms, peer_ms = statistics.median(mine), statistics.median(others)
    return {
        "work": work,
        "ours_ms": ours_ms,
        "peer": "torch process",
        "peer_ms": peer_ms,
        "ratio": peer_ms / ours_ms,
        "floor_pct": None,
        "rss_mb": rss_mb,
        "peer_rss_mb": peer_rss_mb,
        "note": f"import {statistics.median(imports):.1f} s of it; weights {size_mb(folder):.0f} MB",
    }


def forward(work):
    """The name is that of peer_torch.py, followed by -bf16 for bf16 weights."""
    name, dtype = (work.removesuffix("-bf16"), "bf16") if work.endswith("-bf16") else (work, "f32")
    what = name.removeprefix("infer/olmo2-1b-").removesuffix("tok-top5")
    return row(work, "olmo2", weights(dtype), what, opponents=peers.torch(name, dtype))


ROWS = {
    f"infer/olmo2-1b-{what}{dtype}": forward
    for what in ["32tok-top5", "117tok-top5", "decode"]
    for dtype in ["", "-bf16"]
}
ROWS |= {
    f"infer/olmo2-1b-process-{dtype}-{files}": process for dtype in ["f32", "bf16"] for files in ["safetensors", "npy"]
}
