"""steps.py [--own | --profile] FILE: training steps on a GPU by the program next to this, with and without the device's
own library of products, and PyTorch where this Python has it: eager, captured as one CUDA graph, compiled and captured.
FILE gets the rows as JSON. With --own the program alone, as it runs; with --profile the time and the rates of each
kernel of the steps."""

import datetime
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Arguments of gpt_train.shf: vocabulary, length, layers, heads, width, batch, bias, 16 for products in bf16.
ROWS = {
    "train/nanogpt-char-b64 bf16": ([65, 256, 6, 6, 384, 64, 0, 16], ("train/nanogpt-char-b64", "bf16")),
    "train/gpt2-124m-b1-t64 f32": ([50257, 64, 12, 12, 768, 1, 1, 0], ("train/gpt2-124m-b1-t64", "f32")),
    "train/gpt2-124m-b8-t1024 bf16": ([50257, 1024, 12, 12, 768, 8, 1, 16], ("train/gpt2-124m-b8-t1024", "bf16")),
}
SECONDS = 120  # for one process


def output(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=HERE)
    except subprocess.TimeoutExpired:
        return None, f"took more than {SECONDS} s"
    if done.returncode != 0:
        return None, (done.stderr.strip() or done.stdout.strip())[-300:]
    return done.stdout, None


def ours(arguments, *options):
    text, error = output(
        ["./sheaf", "--device", "cuda", *options, "bench/programs/gpt_train.shf", "--", *map(str, arguments), "600"]
    )
    if error:
        return {"error": error}
    words = text.split()  # as gpt_train.shf prints them
    return {"ms": float(words[0]), "first_ms": float(words[2]), "loss": [float(words[4]), float(words[5])]}


def profile(name, arguments):
    command = ["./sheaf", "--device", "cuda", "--jit-profile", "bench/programs/gpt_train.shf", "--"]
    done = subprocess.run(
        [*command, *map(str, arguments), "300"], capture_output=True, text=True, timeout=SECONDS, cwd=HERE
    )
    print(name, done.stdout + done.stderr, sep="\n", flush=True)
    return done.returncode == 0


def torch(what, dtype):
    text, error = output(
        [sys.executable, "bench/peer_torch.py", "--device", "cuda", "--modes", "eager,graph,compile-graph"]
        + ["--what", what, "--dtype", dtype, "--budget", "1"]
    )
    if error:
        return {"error": error}
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return min((r for r in rows if "ms" in r), key=lambda r: r["ms"], default={"error": "printed no time"})


def shown(found):
    return f"{found['ms']:.2f}" if "ms" in found else "failed: " + found["error"].splitlines()[-1]


def main():
    option, path = ("", *sys.argv[1:])[-2:]
    if option == "--profile":
        sys.exit(not all([profile(name, arguments) for name, (arguments, _) in ROWS.items()]))
    gpu = output(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])[0]
    results = {"gpu": (gpu or "").strip(), "date": datetime.date.today().isoformat(), "rows": []}
    for name, (arguments, peer) in ROWS.items():
        row = {"work": name, "ours": ours(arguments)}
        if option != "--own":
            row |= {"without_library": ours(arguments, "--disable=library-products"), "torch": torch(*peer)}
        results["rows"].append(row)
        print(name, *(f"{side} {shown(found)}" for side, found in row.items() if side != "work"), sep="  ", flush=True)
        with open(path, "w") as file:
            json.dump(results, file, indent=1)
    sys.exit(any("error" in row["ours"] for row in results["rows"]))


if __name__ == "__main__":
    main()
