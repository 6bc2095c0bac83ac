"""Rows of models, named as in peer_torch.py: the same work here and by its peers."""

import dataclasses
import os
import statistics
import tempfile

import peers
from floors import floor_pct
from measure import Failed, first_steps, peak, run_measured
from settings import BUILD, OPTIONS, SHEAF, program, rounds


def median_each(lists):
    return {name: statistics.median(values) for name, values in lists.items()}


def starts(model, settled_ms, failed):
    """The first ten steps with nothing on disk, then with the code kept there, by side; extra_ms is their
    extra time compared with settled steps: compiling, slower code until then, the first touch of memory. Sides without
    a settled time are left out; those that fail here are added to `failed`."""
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        ours = [SHEAF, "--cache-dir", os.path.join(cache, "code"), program(model.program), "--", *model.arguments, "-1"]
        commands = {"ours": ours}
        commands.update((p.label(mode), command) for p in model.opponents for mode, command in p.starts.items())
        for side, command in commands.items():
            if side not in settled_ms:
                continue
            # Only Sheaf and torch.compile keep files on disk, in a separate folder for each mode.
            states = ["cold", "cached"] if side == "ours" or "compile" in side else ["cold"]
            for state in states:
                try:
                    seconds = first_steps(
                        command, {"TORCHINDUCTOR_CACHE_DIR": os.path.join(cache, side.replace(" ", "-"))}
                    )  # its compiler splits paths at spaces
                except Failed as failure:
                    failed[side] = str(failure)
                    break
                found.setdefault(side, {})[state] = seconds | {
                    "extra_ms": 1e3 * seconds["ten_steps_s"] - 10 * settled_ms[side]
                }
    return found


@dataclasses.dataclass
class Model:
    """Our program and its arguments, and the same work by peers. `steps`: the number of steps of the work, if its start
    counts."""

    program: str
    arguments: list
    opponents: list
    steps: int = 0

    def __post_init__(self):
        self.arguments = [str(a) for a in self.arguments]

    def command(self):
        return [SHEAF, program(self.program), "--", *self.arguments, OPTIONS["--budget"]]


def our_ms(out):
    return float(out.split()[0])


def row(work):
    """Processes of ours and of the peers alternate, one at a time; the figure is that of the fastest peer and mode. A
    peer or mode that fails is left out from then on, and the row says why."""
    model = MODELS[work](work)
    times, memory, failed = {}, {}, {}

    def note(side, ms, rss_mb):
        times.setdefault(side, []).append(ms)
        memory.setdefault(side, []).append(rss_mb)

    for _ in rounds():
        peak()
        out, _, rss_mb = run_measured(model.command())
        note("ours", our_ms(out), rss_mb)
        for peer in list(model.opponents):
            try:
                out = run_measured(peer.command)[0]
            except Failed as failure:
                failed[peer.name] = str(failure)
                model.opponents.remove(peer)
                continue
            for side, found in peer.figures(out):
                if "ms" in found:
                    note(side, found["ms"], found["peak_rss_mb"])
                else:
                    failed[side] = found["error"]
    modes, memory = median_each(times), median_each(memory)
    start = {}
    if model.steps and OPTIONS["--starts"] == "yes":
        start = starts(model, {side: ms / model.steps for side, ms in modes.items()}, failed)
    ours_ms = modes.pop("ours")
    found = {
        "work": work,
        "ours_ms": ours_ms,
        "peer": "",
        "floor_pct": floor_pct(work, ours_ms, peak()),
        "rss_mb": memory["ours"],
        "modes_ms": modes,
        "starts": start,
    }
    if failed:
        found["note"] = "; ".join(f"{side}: {why}" for side, why in failed.items())
    if not modes:
        return {"note": "no peer asked for has this work"} | found
    best = min(modes, key=modes.get)
    return found | {"peer": best, "peer_ms": modes[best], "ratio": modes[best] / ours_ms, "peer_rss_mb": memory[best]}


LAYERS = ["embedding", "matmul", "layernorm", "attention", "gru-cell", "gru-seq", "transformer-block"]
GPTS = {
    "train/nanogpt-cpu-b12": [65, 64, 4, 4, 128, 12, 0],
    "train/nanogpt-char-b4": [65, 256, 6, 6, 384, 4, 0],
    "train/gpt2-124m-b1-t64": [50257, 64, 12, 12, 768, 1, 1],
    "train/gpt2-124m-b4-t64": [50257, 64, 12, 12, 768, 4, 1],
}
GPT2 = [12, 12, 768, 50257]
NOCACHE, CACHED = "gen/gpt2-124m-100tok-nocache", "gen/gpt2-124m-100tok-kvcache"
MAKEMORE = {"train/makemore-mlp": ["small", 256]} | {
    f"train/makemore-{model}-b{batch}": [model, batch]
    for model in ["mlp", "rnn", "gru", "lstm", "bow", "transformer"]
    for batch in [32, 256]
}


def op(work):
    return Model("ops", [work.removeprefix("op/")], peers.torch(work))


def mlp(work):
    return Model("mlp", [], peers.torch(work) + peers.jax(work))


def makemore(work):
    return Model("makemore", MAKEMORE[work], peers.torch(work, starts=True) + peers.jax(work), steps=1)


def gpt(work):
    return Model("gpt_train", GPTS[work], peers.torch(work, starts=True) + peers.jax(work), steps=1)


def gpt_bf16(work):
    """Products in bf16 by f32 parameters, against PyTorch's autocast and its f32."""
    base = work.removesuffix("-bf16")
    autocast = [dataclasses.replace(p, name="torch bf16", starts={}) for p in peers.torch(base, "bf16")]
    return Model("gpt_train", [*GPTS[base], 16], peers.torch(base) + autocast)


def gpt2_weights(kind):
    """The file with the random weights, written when it is not there: peak memory is that of generating, as
    llama.cpp's, which maps a file too. Pages of the file that were touched count on both sides."""
    path = os.path.join(BUILD, "weights", f"gpt2-{kind}.safetensors")
    if not os.path.exists(path):
        layers, _, width, vocabulary = map(str, GPT2)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        new = path.replace(".safetensors", ".new.safetensors")
        run_measured([SHEAF, program("generate_weights"), "--", new, kind, layers, width, vocabulary])
        os.rename(new, path)
    return path


def nocache(work):
    return Model("generate", ["nocache", gpt2_weights("f32"), *GPT2], peers.torch(work))


def cached(work):
    kind = work.removeprefix(CACHED).removeprefix("-") or "f32"
    opponents = {
        "f32": lambda: peers.torch(CACHED, starts=True) + peers.llama(CACHED, "f32"),
        "bf16": lambda: peers.torch(CACHED, "bf16", starts=True) + peers.llama(CACHED, "f16", "bf16"),
        "q8": lambda: peers.llama(CACHED, "q8"),
        "q4": lambda: peers.llama(CACHED, "q4"),
    }
    return Model("generate", ["kvcache", gpt2_weights(kind), *GPT2], opponents[kind](), steps=100)


# By group: the function that describes a row, given its name.
GROUPS = {
    "ops": {f"op/{layer}{gradient}": op for layer in LAYERS for gradient in ["", "+grad"]},
    "mlp": {"mlp-1024-b256": mlp},
    "makemore": dict.fromkeys(MAKEMORE, makemore),
    "train": dict.fromkeys(GPTS, gpt) | {"train/gpt2-124m-b1-t64-bf16": gpt_bf16},
    "gen": {NOCACHE: nocache} | dict.fromkeys([CACHED, CACHED + "-bf16", CACHED + "-q8", CACHED + "-q4"], cached),
}
MODELS = {work: describe for rows in GROUPS.values() for work, describe in rows.items()}
