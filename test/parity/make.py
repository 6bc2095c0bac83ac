"""Makes the goldens of the programs here: small seeded models in PyTorch (2.10 made those that are stored), computed in
float64 from float32 weights.

For each model NAME.npz has what it was given (`x`, `y`, `params.…` under the names that our models use), the logits,
the gradient of every parameter, and the losses of ten steps of AdamW on the same batch. Also the checkpoints of nanoGPT
for test/examples/wrong-files.

    python3 test/parity/make.py        (needs numpy and torch)
"""

import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
torch.set_default_dtype(torch.float64)


class Params(dict):
    """Leaves by dotted name; p("blocks.0") gives the part below a name."""

    def __call__(self, prefix):
        return Params({k[len(prefix) + 1 :]: v for k, v in self.items() if k.startswith(prefix + ".")})


def normal(rng, *shape, scale):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def gelu(x):
    return F.gelu(x, approximate="tanh")


def layer_norm(x, p):
    return F.layer_norm(x, x.shape[-1:], p["gamma"], p.get("beta"), 1e-5)


def dense(x, p):
    y = x @ p["W"]
    return y + p["b"] if "b" in p else y


def attend(q, k, v, heads, mask):
    b, t, _ = q.shape
    cut = lambda a: a.reshape(b, a.shape[1], heads, -1).transpose(1, 2)
    scores = cut(q) @ cut(k).transpose(-1, -2) / math.sqrt(q.shape[-1] // heads)
    y = torch.softmax(scores.masked_fill(~mask, -math.inf), -1) @ cut(v)
    return y.transpose(1, 2).reshape(b, t, -1)


def causal(t):
    return torch.tril(torch.ones(t, t, dtype=torch.bool))


# The models. Each returns parameters, a batch, and logits; y below 0 is ignored in the loss.


def gpt(rng, bias):
    vocab, t, width, layers, heads = 17, 8, 16, 2, 2
    p = {"token": normal(rng, vocab, width, scale=0.3), "position": normal(rng, t, width, scale=0.3)}

    def gains(name):
        p[name + ".gamma"] = 1 + normal(rng, width, scale=0.1)
        if bias:
            p[name + ".beta"] = normal(rng, width, scale=0.1)

    def linear(name, i, o):
        p[name + ".W"] = normal(rng, i, o, scale=0.2)
        if bias:
            p[name + ".b"] = normal(rng, o, scale=0.1)

    gains("norm")
    for i in range(layers):
        at = f"blocks.{i}."
        gains(at + "norm1"), linear(at + "qkv", width, 3 * width), linear(at + "out", width, width)
        gains(at + "norm2"), linear(at + "up", width, 4 * width), linear(at + "down", 4 * width, width)
    ids = rng.integers(0, vocab, (3, t + 1))

    def logits(p, x):
        h = p["token"][x] + p["position"]
        for i in range(layers):
            b = p(f"blocks.{i}")
            q, k, v = dense(layer_norm(h, b("norm1")), b("qkv")).chunk(3, -1)
            h = h + dense(attend(q, k, v, heads, causal(t)), b("out"))
            h = h + dense(gelu(dense(layer_norm(h, b("norm2")), b("up"))), b("down"))
        return layer_norm(h, p("norm")) @ p["token"].T

    return p, ids[:, :-1], ids[:, 1:], logits


def hashed(seed, *shape):
    """Numbers from -0.5 to 0.5 that parity.shf computes too, to the bit: the weights of OLMo-2 need not be stored."""
    i = np.arange(math.prod(shape), dtype=np.int64)
    u, v = i % 1009, i // 1009
    n = (u * u % 1009 * (31 + seed) + v * v % 1009 * 37 + u * v % 1009 * 17 + u * (seed + 3)) % 1009
    return (n.astype(np.float32) / np.float32(1009) - np.float32(0.5)).reshape(shape)


def olmo2(rng):
    vocab, t, width, heads, hidden = 13, 6, 256, 2, 24
    sizes = {"model.embed_tokens": (vocab, width), "model.norm": (width,), "lm_head": (vocab, width)}
    at = "model.layers.0."
    for name in "qkvo":
        sizes[f"{at}self_attn.{name}_proj"] = (width, width)
    for name in ("self_attn.q_norm", "self_attn.k_norm", "post_attention_layernorm", "post_feedforward_layernorm"):
        sizes[at + name] = (width,)
    sizes |= {
        at + "mlp.gate_proj": (hidden, width),
        at + "mlp.up_proj": (hidden, width),
        at + "mlp.down_proj": (width, hidden),
    }
    p = {}
    for seed, name in enumerate(sorted(sizes)):
        w = hashed(seed, *sizes[name])
        p[name + ".weight"] = w + np.float32(1) if w.ndim == 1 else w * np.float32(0.25)
    ids = rng.integers(0, vocab, (2, t + 1))

    def norm(x, w):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w

    def rope(x):
        b, _, d = x.shape
        x = x.reshape(b, t, heads, d // heads)
        half = d // heads // 2
        angle = torch.arange(t)[:, None] * 500000.0 ** (-torch.arange(half) / half)
        c, s = angle.cos()[:, None], angle.sin()[:, None]
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * c - right * s, right * c + left * s], -1).reshape(b, t, d)

    def logits(p, x):
        h = p["model.embed_tokens.weight"][x]
        l = p("model.layers.0")
        q = rope(norm(h @ l["self_attn.q_proj.weight"].T, l["self_attn.q_norm.weight"]))
        k = rope(norm(h @ l["self_attn.k_proj.weight"].T, l["self_attn.k_norm.weight"]))
        y = attend(q, k, h @ l["self_attn.v_proj.weight"].T, heads, causal(t))
        h = h + norm(y @ l["self_attn.o_proj.weight"].T, l["post_attention_layernorm.weight"])
        m = F.silu(h @ l["mlp.gate_proj.weight"].T) * (h @ l["mlp.up_proj.weight"].T) @ l["mlp.down_proj.weight"].T
        h = h + norm(m, l["post_feedforward_layernorm.weight"])
        return norm(h, p["model.norm.weight"]) @ p["lm_head.weight"].T

    return p, ids[:, :-1], ids[:, 1:], logits


def recurrent(rng, kind):
    vocab, t, embed, width = 11, 7, 6, 10
    gates = 3 if kind == "gru" else 4
    p = {
        "token": normal(rng, vocab, embed, scale=1),
        "cell.W": normal(rng, embed, gates * width, scale=0.4),
        "cell.U": normal(rng, width, gates * width, scale=0.4),
        "cell.b": normal(rng, gates * width, scale=0.2),
        "out.W": normal(rng, width, vocab, scale=0.4),
        "out.b": normal(rng, vocab, scale=0.2),
    }
    if kind == "gru":
        p["cell.c"] = normal(rng, gates * width, scale=0.2)
    ids = rng.integers(0, vocab, (4, t + 1))
    y = ids[:, 1:].copy()
    y[1, 4:] = -1

    def logits(p, x):
        c = p("cell")
        h = torch.zeros(len(x), width)
        state = torch.zeros(len(x), width)
        out = []
        for i in range(t):
            e = p["token"][x[:, i]]
            if kind == "gru":
                h = torch._VF.gru_cell(e, h, c["W"].T, c["U"].T, c["b"], c["c"])
            else:
                h, state = torch._VF.lstm_cell(e, (h, state), c["W"].T, c["U"].T, c["b"], torch.zeros_like(c["b"]))
            out.append(dense(h, p("out")))
        return torch.stack(out, 1)

    return p, ids[:, :-1], y, logits


def conv(rng):
    channels, size, classes = 4, 9, 5
    p = {
        "c1.W": normal(rng, channels, 1, 3, 3, scale=0.4),
        "c1.b": normal(rng, channels, scale=0.1),
        "c2.W": normal(rng, 2 * channels, channels, 3, 3, scale=0.2),
        "c2.b": normal(rng, 2 * channels, scale=0.1),
        "norm.gamma": 1 + normal(rng, 2 * channels, scale=0.1),
        "norm.beta": normal(rng, 2 * channels, scale=0.1),
        "head.W": normal(rng, 2 * channels * 4, classes, scale=0.2),
        "head.b": normal(rng, classes, scale=0.1),
    }

    def logits(p, x):
        h = F.max_pool2d(F.relu(F.conv2d(x, p["c1.W"], p["c1.b"], padding=1)), 2)
        h = F.group_norm(F.conv2d(h, p["c2.W"], p["c2.b"], padding=1), 4, p["norm.gamma"], p["norm.beta"])
        return dense(F.max_pool2d(F.relu(h), 2).flatten(1), p("head"))

    return p, normal(rng, 6, 1, size, size, scale=1), rng.integers(0, classes, 6), logits


def moe(rng):
    vocab, t, width, hidden, experts, heads = 9, 8, 12, 10, 4, 2
    p = {
        "token": normal(rng, vocab, width, scale=0.5),
        "position": normal(rng, t, width, scale=0.3),
        "router": normal(rng, width, experts, scale=0.5),
        "attention.qkv.W": normal(rng, width, 3 * width, scale=0.3),
        "attention.qkv.b": normal(rng, 3 * width, scale=0.1),
        "attention.out.W": normal(rng, width, width, scale=0.3),
        "attention.out.b": normal(rng, width, scale=0.1),
        "up": normal(rng, experts, width, hidden, scale=0.4),
        "down": normal(rng, experts, hidden, width, scale=0.4),
        "out.W": normal(rng, width, vocab, scale=0.3),
        "out.b": normal(rng, vocab, scale=0.1),
    }
    for i in "123":
        p[f"norm{i}.gamma"], p[f"norm{i}.beta"] = 1 + normal(rng, width, scale=0.1), normal(rng, width, scale=0.1)
    ids = rng.integers(0, vocab, (3, t + 1))

    def logits(p, x):
        h = p["token"][x] + p["position"]
        q, k, v = dense(layer_norm(h, p("norm1")), p("attention.qkv")).chunk(3, -1)
        h = h + dense(attend(q, k, v, heads, causal(t)), p("attention.out"))
        rows = layer_norm(h, p("norm2")).reshape(-1, width)
        best, chosen = torch.softmax(rows @ p["router"], -1).topk(2, -1)
        weights = best / best.sum(-1, keepdim=True)
        y = torch.zeros_like(rows)
        for e in range(experts):  # each expert by itself: shares no code with Sheaf
            row, place = torch.where(chosen == e)
            y = y.index_add(0, row, weights[row, place, None] * (gelu(rows[row] @ p["up"][e]) @ p["down"][e]))
        return dense(layer_norm(h + y.reshape(h.shape), p("norm3")), p("out"))

    return p, ids[:, :-1], ids[:, 1:], logits


def bert(rng):
    vocab, t, width, layers, heads = 19, 9, 16, 2, 4
    p = {
        "token": normal(rng, vocab, width, scale=0.5),
        "position": normal(rng, t, width, scale=0.3),
        "kind": normal(rng, 2, width, scale=0.3),
        "head.W": normal(rng, width, width, scale=0.3),
        "head.b": normal(rng, width, scale=0.1),
        "bias": normal(rng, vocab, scale=0.1),
    }
    names = ["norm", "head-norm"] + [f"blocks.{i}.norm{j}" for i in range(layers) for j in (1, 2)]
    for name in names:
        p[name + ".gamma"], p[name + ".beta"] = 1 + normal(rng, width, scale=0.1), normal(rng, width, scale=0.1)
    for i in range(layers):
        for name, a, b in (
            ("attention.qkv", width, 3 * width),
            ("attention.out", width, width),
            ("up", width, 2 * width),
            ("down", 2 * width, width),
        ):
            p[f"blocks.{i}.{name}.W"], p[f"blocks.{i}.{name}.b"] = (
                normal(rng, a, b, scale=0.2),
                normal(rng, b, scale=0.1),
            )
    x = rng.integers(1, vocab, (3, t))
    x[1, 6:] = 0  # padding
    y = np.where(rng.random((3, t)) < 0.4, rng.integers(1, vocab, (3, t)), -1)
    y[x == 0] = -1

    def logits(p, x):
        seen = (x != 0)[:, None, None, :]
        second = (torch.arange(t) >= 4).long()
        h = layer_norm(p["token"][x] + p["position"] + p["kind"][second], p("norm"))
        for i in range(layers):
            b = p(f"blocks.{i}")
            q, k, v = dense(h, b("attention.qkv")).chunk(3, -1)
            h = layer_norm(h + dense(attend(q, k, v, heads, seen), b("attention.out")), b("norm1"))
            h = layer_norm(h + dense(F.gelu(dense(h, b("up"))), b("down")), b("norm2"))
        return layer_norm(F.gelu(dense(h, p("head"))), p("head-norm")) @ p["token"].T + p["bias"]

    return p, x, y, logits


def loss(l, y):
    return F.cross_entropy(l.reshape(-1, l.shape[-1]), y.reshape(-1), ignore_index=-1)


def stored_gradient(g):
    """A large one by its first rows and its sums both ways."""
    if g.size <= 4096:
        return {"": g}
    return {":rows": g[:4], ":over-rows": g.sum(0), ":over-columns": g.sum(1)}


def make(name, p, x, y, logits, store_params=True):
    given = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in p.items()}
    x_in, y_in = torch.tensor(x if x.dtype.kind == "i" else x.astype(np.float64)), torch.tensor(y)
    out = logits(Params(given), x_in)
    loss(out, y_in).backward()
    keep = {
        "x": x.astype(np.int32 if x.dtype.kind == "i" else np.float32),
        "y": y.astype(np.int32),
        "logits": out.detach().numpy(),
    }
    for k, v in given.items():
        if store_params:
            keep["params." + k] = p[k]
        for part, g in stored_gradient(v.grad.numpy()).items():
            keep[f"grads.{k}{part}"] = g
    optimizer = torch.optim.AdamW(given.values(), lr=3e-3, weight_decay=0.1)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        l = loss(logits(Params(given), x_in), y_in)
        l.backward()
        optimizer.step()
        losses.append(l.item())
    keep["losses"] = np.array(losses)
    np.savez_compressed(
        HERE / f"{name}.npz", **{k: v.astype(np.float32) if v.dtype == np.float64 else v for k, v in keep.items()}
    )


def nanogpt_checkpoints(rng):
    vocab, t, layers, heads, width = 11, 8, 1, 2, 8
    prefix = "_orig_mod.transformer."
    sizes = {
        "wte": (vocab, width),
        "wpe": (t, width),
        "h.0.ln_1": (width,),
        "h.0.attn.c_attn": (3 * width, width),
        "h.0.attn.c_proj": (width, width),
        "h.0.ln_2": (width,),
        "h.0.mlp.c_fc": (4 * width, width),
        "h.0.mlp.c_proj": (width, 4 * width),
        "ln_f": (width,),
    }
    model = {f"{prefix}{k}.weight": torch.tensor(normal(rng, *s, scale=0.02)) for k, s in sizes.items()}
    args = dict(n_layer=layers, n_head=heads, n_embd=width, block_size=t, bias=False, vocab_size=vocab, dropout=0.0)
    save = lambda name, m: torch.save({"model": m, "model_args": args, "iter_num": 1}, HERE / f"{name}.pt")
    save("nanogpt", model)
    save("nanogpt-missing", {k: v for k, v in model.items() if k != prefix + "h.0.mlp.c_proj.weight"})
    save("nanogpt-shape", model | {prefix + "h.0.attn.c_attn.weight": torch.zeros(24, 4, dtype=torch.float32)})


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    make("gpt", *gpt(rng, bias=False))
    make("gpt-bias", *gpt(rng, bias=True))
    make("olmo2", *olmo2(rng), store_params=False)
    make("gru", *recurrent(rng, "gru"))
    make("lstm", *recurrent(rng, "lstm"))
    make("conv", *conv(rng))
    make("moe", *moe(rng))
    make("bert", *bert(rng))
    nanogpt_checkpoints(rng)
