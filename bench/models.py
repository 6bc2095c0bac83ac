"""Rows of models, named as in peer_torch.py: the same work here and by its peers."""
import json
import statistics

from floors import floor_ms
from measure import peak, run_measured
from peers import jax_command, torch_command
from settings import OPTIONS, SHEAF, program, rounds

JAX_ROWS = ["mlp-1024-b256", "train/nanogpt-cpu-b12", "train/nanogpt-char-b4", "train/gpt2-124m-b1-t64"]


def row(work, name, *arguments):
    """Processes of ours and of the peers take turns; the figure is that of the fastest peer and mode."""
    ours = [SHEAF, program(name), "--", *map(str, arguments), OPTIONS["--budget"]]
    peers = [torch_command(work)]
    if work in JAX_ROWS and "jax" in OPTIONS["--peers"]:
        peers.append(jax_command(work))
    mine, theirs, memory = [], {}, {}
    for _ in rounds():
        out, _, rss_mb = run_measured(ours)
        mine.append(float(out.split()[0]))
        memory.setdefault("ours", []).append(rss_mb)
        for line in "".join(run_measured(p)[0] for p in peers).splitlines():
            found = json.loads(line)
            if found.get("work") == work and "ms" in found:
                mode = found["mode"] if found["mode"] == "jax" else "torch " + found["mode"]
                theirs.setdefault(mode, []).append(found["ms"])
                memory.setdefault(mode, []).append(found["peak_rss_mb"])
    ours_ms = statistics.median(mine)
    mode, peer_ms = min(((m, statistics.median(t)) for m, t in theirs.items()), key=lambda x: x[1])
    least = floor_ms(work, peak())
    return {"work": work, "ours_ms": ours_ms, "peer": mode, "peer_ms": peer_ms, "ratio": peer_ms / ours_ms, "floor_pct": least and 100 * least / ours_ms,
            "rss_mb": statistics.median(memory["ours"]), "peer_rss_mb": statistics.median(memory[mode]),
            "modes_ms": {m: statistics.median(t) for m, t in theirs.items()}}


def ops():
    for layer in ["embedding", "matmul", "layernorm", "attention", "gru-cell", "gru-seq", "transformer-block"]:
        for name in [layer, layer + "+grad"]:
            yield row("op/" + name, "ops", name)


def mlp():
    yield row("mlp-1024-b256", "mlp")


def makemore():
    yield row("train/makemore-mlp", "makemore", "small", 256)
    for model in ["mlp", "rnn", "gru", "lstm", "bow", "transformer"]:
        for batch in [32, 256]:
            yield row(f"train/makemore-{model}-b{batch}", "makemore", model, batch)


def train():
    yield row("train/nanogpt-cpu-b12", "gpt_train", 65, 64, 4, 4, 128, 12, 0)
    yield row("train/nanogpt-char-b4", "gpt_train", 65, 256, 6, 6, 384, 4, 0)
    yield row("train/gpt2-124m-b1-t64", "gpt_train", 50257, 64, 12, 12, 768, 1, 1)


def gen():
    for way in ["nocache", "kvcache"]:
        yield row(f"gen/gpt2-124m-100tok-{way}", "generate", way, 12, 12, 768, 50257)


def models():
    for work in [ops, mlp, makemore, train, gen]:
        yield from work()
