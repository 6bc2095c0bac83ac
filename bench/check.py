"""./x bench --check: answers at full sizes against PyTorch's: logits, loss and every gradient."""

import os
import subprocess
import sys
import tempfile

from peers import torch_python
from settings import BENCH, SHEAF, program

MODELS = {"nanogpt-char": ["gpt", "6"], "gpt2-124m": ["gpt", "12"], "olmo2-1b": ["olmo2", "16"]}
# f32 keeps 6e-8 of a number; sums of some thousands of them through twelve layers make that some 1e-6.
BOUND = 1e-5


def distances(model):
    """By name: the errors of ours and of PyTorch's own f32 against its f64, relative to the largest number."""
    with tempfile.TemporaryDirectory() as folder:
        answers = os.path.join(folder, "answers.npz")
        subprocess.run([torch_python(), os.path.join(BENCH, "peer_torch_answers.py"), model, answers], check=True)
        out = subprocess.run(
            [SHEAF, program("check"), "--", *MODELS[model], answers], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    return {name: (float(ours), float(theirs)) for name, ours, theirs in (line.split() for line in out.splitlines())}


def check():
    """Prints a line for each model; returns the status of the program."""
    failed = False
    print(
        f"{'model':<14} {'of':<46} {'ours':>9} {'torch f32':>9}   from PyTorch in f64, as a part of the largest number"
    )
    for model in MODELS:
        found = distances(model)
        grads = {name: found.pop(name) for name in list(found) if name.startswith("grads.")}
        if grads:
            worst = max(grads, key=lambda name: grads[name][0])
            found[f"gradients, worst {worst.removeprefix('grads.')}"] = grads[worst]
        for name, (ours, theirs) in found.items():
            wrong = not ours <= BOUND
            failed |= wrong
            print(f"{model:<14} {name:<46} {ours:>9.1e} {theirs:>9.1e}{'   too far' if wrong else ''}", flush=True)
    return 1 if failed else 0
