"""Follows a training run of examples/nanogpt in PyTorch: the same beginning, portions, schedule, clipping and AdamW, in
float32.

    python3 test/parity/follow.py PATH-OF-SHEAF [OPTION…]        (needs numpy and torch)

Options are those of nanogpt.shf; by default `--config char --batch 4 --steps 200`. Prints how far the losses are apart
and fails where that is more than 1e-4 of the loss in the first 20 steps, or more than 1 % in any of them. With
`--double` PyTorch does it in float64 too, which tells what rounding alone does.
"""

import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

from make import Params, attend, causal, dense, gelu, layer_norm, loss

HERE = pathlib.Path(__file__).resolve().parent


def logits(p, x, heads):
    h = p["token"][x] + p["position"]
    for i in range(sum(name.endswith(".qkv.W") for name in p)):
        b = p(f"blocks.{i}")
        q, k, v = dense(layer_norm(h, b("norm1")), b("qkv")).chunk(3, -1)
        h = h + dense(attend(q, k, v, heads, causal(x.shape[1])), b("out"))
        h = h + dense(gelu(dense(layer_norm(h, b("norm2")), b("up"))), b("down"))
    return layer_norm(h, p("norm")) @ p["token"].T


def rate(step, o):
    """As in nanoGPT's train.py."""
    if step < o.warmup:
        return o.lr * step / o.warmup
    return o.min_lr + 0.5 * (1 + math.cos(math.pi * (step - o.warmup) / (o.steps - o.warmup))) * (o.lr - o.min_lr)


def train(run, o, dtype):
    torch.set_default_dtype(dtype)
    p = {
        k.removeprefix("params."): torch.tensor(run[k], dtype=dtype, requires_grad=True)
        for k in run.files
        if k.startswith("params.")
    }
    decays = [[w for w in p.values() if (w.ndim > 1) == matrices] for matrices in (True, False)]
    optimizer = torch.optim.AdamW(
        [{"params": decays[0], "weight_decay": o.decay}, {"params": decays[1], "weight_decay": 0.0}],
        betas=(0.9, 0.99),
        eps=1e-8,
    )
    losses = []
    for step, (x, y) in enumerate(zip(torch.tensor(run["x"]).long(), torch.tensor(run["y"]).long())):
        for group in optimizer.param_groups:
            group["lr"] = rate(step, o)
        optimizer.zero_grad()
        l = loss(logits(Params(p), x, int(run["heads"])), y)
        l.backward()
        torch.nn.utils.clip_grad_norm_(p.values(), o.clip)
        optimizer.step()
        losses.append(l.item())
    return np.array(losses)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("sheaf")
    for name, default in {"config": "char", "data": ""}.items():
        parser.add_argument("--" + name, default=default)
    for name, default in {"batch": 4, "steps": 200, "bpe": 0, "warmup": 100, "seed": 1337}.items():
        parser.add_argument("--" + name, type=int, default=default)
    for name, default in {"lr": 1e-3, "min-lr": 1e-4, "decay": 0.1, "clip": 1.0}.items():
        parser.add_argument("--" + name, type=float, default=default)
    parser.add_argument("--double", action="store_true")
    o = parser.parse_args()
    if o.data:
        o.data = str(pathlib.Path(o.data).resolve())
    options = [
        f"--{name.replace('_', '-')}={value}" for name, value in vars(o).items() if name not in ("sheaf", "double")
    ]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [pathlib.Path(o.sheaf).resolve(), HERE / "follow.shf", "--", f"--path={folder}/run.npz", *options],
            cwd=HERE.parents[1],
            check=True,
        )
        with np.load(folder + "/run.npz") as run:
            ours, single, double = (
                run["losses"].astype(float),
                train(run, o, torch.float32),
                train(run, o, torch.float64) if o.double else None,
            )
    apart = lambda a, b: np.abs(a - b) / b
    print(f"{' '.join(options)}: loss from {ours[0]:.4f} to {ours[-1]:.4f}")
    print(f"{'largest difference, as a part of the loss':<42} {'first 20 steps':>15} {'all ' + str(o.steps):>10}")
    pairs = [("ours from PyTorch in float32", ours, single)]
    if o.double:
        pairs += [("ours from PyTorch in float64", ours, double), ("PyTorch in float32 from float64", single, double)]
    for name, a, b in pairs:
        print(f"{name:<42} {apart(a, b)[:20].max():>15.1e} {apart(a, b).max():>10.1e}")
    far = apart(ours, single)
    sys.exit(0 if far[:20].max() < 1e-4 and far.max() < 1e-2 else "too far")


if __name__ == "__main__":
    main()
