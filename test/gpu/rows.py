"""rows.py [--torch] FILE: further rows of the benchmarks on a GPU by the program next to this: single layers with and
without gradient, makemore's models, a perceptron, and GPT-2 generating 100 tokens. With --torch also PyTorch's eager
mode, alone and captured in one CUDA graph. FILE gets the rows as JSON; none begins after the limit (ROWS_SECONDS)."""

import json
import os
import sys
import time

from steps import output, shown

MS = 200  # of measuring
GPT2 = ["12", "12", "768", "50257"]
LAYERS = ["embedding", "matmul", "layernorm", "attention", "gru-cell", "gru-seq", "transformer-block"]
# The program's name in bench/programs and its arguments, by what peer_torch.py calls the row, and the dtype there.
ROWS = {(f"op/{layer}{grad}", "f32"): ("ops", [layer + grad]) for layer in LAYERS for grad in ["", "+grad"]}
ROWS |= {("mlp-1024-b256", "f32"): ("mlp", [])}
ROWS |= {("train/makemore-mlp", "f32"): ("makemore", ["small", "256"])}
ROWS |= {
    (f"train/makemore-{model}-b{batch}", "f32"): ("makemore", [model, str(batch)])
    for model, batch in [("gru", 32), ("transformer", 32), ("transformer", 256)]
}
ROWS |= {
    (f"gen/gpt2-124m-100tok-{cache}", kind): ("generate", [cache, f"weights-{kind}.safetensors", *GPT2])
    for cache, kind in [
        ("kvcache", "f32"),
        ("kvcache", "bf16"),
        ("kvcache", "q8"),
        ("kvcache", "q4"),
        ("nocache", "f32"),
    ]
}


def ours(program, arguments):
    for file in arguments:
        if file.endswith(".safetensors") and not os.path.exists(file):
            kind = file.removeprefix("weights-").removesuffix(".safetensors")
            command = ["./sheaf", "bench/programs/generate_weights.shf", "--", file, kind, "12", "768", "50257"]
            _, error = output(command)
            if error:
                return {"error": error}
    text, error = output(["./sheaf", "--device", "cuda", f"bench/programs/{program}.shf", "--", *arguments, str(MS)])
    return {"error": error} if error else {"ms": float(text.split()[0])}


def torch(work, dtype):
    if dtype not in ("f32", "bf16"):
        return {"error": "PyTorch has no such weights"}
    text, error = output(
        [sys.executable, "bench/peer_torch.py", "--device", "cuda", "--modes", "eager,graph"]
        + ["--what", work, "--dtype", dtype, "--budget", str(MS)]
    )
    if error:
        return {"error": error}
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return min((r for r in rows if "ms" in r), key=lambda r: r["ms"], default={"error": "printed no time"})


def main():
    option, path = ("", *sys.argv[1:])[-2:]
    end = time.monotonic() + float(os.environ.get("ROWS_SECONDS", 150))
    rows = []
    for (work, dtype), (program, arguments) in ROWS.items():
        if time.monotonic() > end:
            print("the rest: no time was left")
            break
        row = {"work": f"{work} {dtype}", "ours": ours(program, arguments)}
        if option == "--torch":
            row["torch"] = torch(work, dtype)
        rows.append(row)
        print(row["work"], *(f"{side} {shown(row[side])}" for side in row if side != "work"), sep="  ", flush=True)
        with open(path, "w") as file:
            json.dump(rows, file, indent=1)
    sys.exit(any("error" in row["ours"] for row in rows))


if __name__ == "__main__":
    main()
