#!/usr/bin/env python3
"""JAX's side of the rows that it is compared on: the perceptron, and training steps (loss, gradients, AdamW; GPTs are
clipped) as one jitted function whose state is donated. A model with a loop over positions is tried both as a scan and
written out: "variant" names the faster way.

  peer_jax.py --what ROW [--budget SECONDS]
Prints one JSON line: {"work", "mode": "jax", "ms", "first_ms", "peak_rss_mb"}, and "variant" where there are several.
"""

import argparse
import functools
import json
import re
import resource
import statistics
import time

import jax
import jax.numpy as jnp

GPTS = {  # vocabulary, positions, length, layers, heads, width, batch, bias
    "train/nanogpt-cpu-b12": (65, 64, 64, 4, 4, 128, 12, False),
    "train/nanogpt-char-b4": (65, 256, 256, 6, 6, 384, 4, False),
    "train/gpt2-124m-b1-t64": (50257, 1024, 64, 12, 12, 768, 1, True),
}


def timed(call, budget):
    """`call(state)` returns the next state."""
    begin = time.perf_counter()
    state = jax.block_until_ready(call(None))
    first = (time.perf_counter() - begin) * 1e3
    state = jax.block_until_ready(call(state))
    times = []
    while len(times) < 3 or sum(times) < budget * 1e3:
        begin = time.perf_counter()
        state = jax.block_until_ready(call(state))
        times.append((time.perf_counter() - begin) * 1e3)
    return {"ms": statistics.median(times), "first_ms": first}


def mlp():
    keys = jax.random.split(jax.random.key(0), 3)
    weights = [0.03 * jax.random.normal(k, (1024, 1024)) for k in keys[:2]]
    x = jax.random.normal(keys[2], (256, 1024))

    @jax.jit
    def forward(a, b, x):
        return jax.nn.relu(x @ a + 0.0) @ b + 0.0

    return lambda _: forward(*weights, x)


def norm(x, p):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * p["gamma"] + p["beta"]


def dense(x, p):
    y = x @ p["w"]
    return y + p["b"] if "b" in p else y


def block(x, p, heads):
    batch, length, width = x.shape
    q, k, v = (t.reshape(batch, length, heads, -1) for t in jnp.split(dense(norm(x, p["ln1"]), p["qkv"]), 3, -1))
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape)
    x = x + dense(y, p["out"])
    return x + dense(jax.nn.gelu(dense(norm(x, p["ln2"]), p["up"])), p["down"])


def gpt_loss(p, x, y, heads):
    h = p["wte"][x] + p["wpe"][: x.shape[1]]
    for b in p["blocks"]:
        h = block(h, b, heads)
    return cross_entropy(norm(h, p["ln"]) @ (p["head"] if "head" in p else p["wte"].T), y)


def clipped(g):
    size = jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(g)))
    return jax.tree.map(lambda x: jnp.minimum(1.0, 1.0 / (size + 1e-6)) * x, g)


def adamw(p, g, m, v, t, rate, b1, b2, decay):
    t = t + 1
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, m, g)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, v, g)
    p = jax.tree.map(
        lambda p, m, v: p - rate * ((m / (1 - b1**t)) / (jnp.sqrt(v / (1 - b2**t)) + 1e-8) + decay * p), p, m, v
    )
    return p, m, v, t


def training(p, loss_of, prepared, *optimizer):
    """Steps of a model: loss_of(parameters) is differentiated, prepared(gradients) go to AdamW."""

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state):
        p, m, v, t, _ = state
        loss, g = jax.value_and_grad(loss_of)(p)
        return *adamw(p, prepared(g), m, v, t, *optimizer), loss

    zeros = lambda: jax.tree.map(jnp.zeros_like, p)
    start = (p, zeros(), zeros(), jnp.zeros((), jnp.int32), jnp.zeros(()))
    return lambda state: step(start if state is None else state)


def cross_entropy(logits, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1).mean()


def gpt_parameters(keys, vocabulary, positions, layers, width, bias):
    weight = lambda rows, columns: {
        "w": 0.02 * jax.random.normal(next(keys), (rows, columns)),
        **({"b": jnp.zeros(columns)} if bias else {}),
    }
    scale = lambda: {"gamma": jnp.ones(width), "beta": jnp.zeros(width)}
    return {
        "wte": 0.02 * jax.random.normal(next(keys), (vocabulary, width)),
        "wpe": 0.02 * jax.random.normal(next(keys), (positions, width)),
        "ln": scale(),
        "blocks": [
            {
                "ln1": scale(),
                "qkv": weight(width, 3 * width),
                "out": weight(width, width),
                "ln2": scale(),
                "up": weight(width, 4 * width),
                "down": weight(4 * width, width),
            }
            for _ in range(layers)
        ],
    }


def gpt(vocabulary, positions, length, layers, heads, width, batch, bias):
    keys = iter(jax.random.split(jax.random.key(0), 4 * layers + 4))
    p = gpt_parameters(keys, vocabulary, positions, layers, width, bias)
    x, y = (jax.random.randint(next(keys), (batch, length), 0, vocabulary) for _ in "xy")
    return training(p, lambda p: gpt_loss(p, x, y, heads), clipped, 3e-4, 0.9, 0.95, 0.1)


V, T, D = 27, 16, 64  # makemore: letters, positions, width


def small_logits(p, ids):
    return dense(jnp.tanh(dense(p["te"][ids].reshape(len(ids), 3 * D), p["f"])), p["p"])


def mlp_logits(p, ids):
    padded = jnp.pad(ids, ((0, 0), (T - 1, 0)), constant_values=V)
    x = p["te"][jnp.stack([padded[:, t : t + T] for t in range(T)], 1)]
    return dense(jnp.tanh(dense(x.reshape(*ids.shape, T * D), p["f"])), p["p"])


def bow_logits(p, ids):
    x = p["te"][ids] + p["pe"]
    x = x + jnp.tril(jnp.ones((T, T))) / jnp.arange(1, T + 1)[:, None] @ x
    return dense(x + dense(jnp.tanh(dense(x, p["f"])), p["p"]), p["head"])


def recurrent_step(kind, p, state, x):
    h, c = state
    gates = dense(jnp.concatenate([x, h], 1), p["w"])
    if kind == "rnn":
        return jnp.tanh(gates), c
    if kind == "gru":
        r, z = jnp.split(jax.nn.sigmoid(gates), 2, 1)
        return h + z * (jnp.tanh(dense(jnp.concatenate([x, r * h], 1), p["g"])) - h), c
    f, i, o, g = jnp.split(gates, 4, 1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def recurrent_logits(kind, unroll, p, ids):
    h = jnp.broadcast_to(p["start"], (len(ids), D))

    def step(state, x):
        state = recurrent_step(kind, p, state, x)
        return state, state[0]

    _, hs = jax.lax.scan(step, (h, jnp.zeros_like(h)), p["te"][ids].swapaxes(0, 1), unroll=unroll)
    return dense(hs.swapaxes(0, 1), p["head"])


def makemore(model, batch):
    """By variant."""
    keys = iter(jax.random.split(jax.random.key(0), 64))
    normal = lambda *sizes: 0.1 * jax.random.normal(next(keys), sizes)
    linear = lambda rows, columns: {"w": normal(rows, columns), "b": jnp.zeros(columns)}
    x, y = (
        jax.random.randint(next(keys), sizes, 0, V)
        for sizes in (((batch, 3), (batch,)) if model == "small" else ((batch, T), (batch, T)))
    )
    steps = lambda p, loss: training(p, loss, lambda g: g, 5e-4, 0.9, 0.99, 0.01)
    if model == "transformer":
        p = gpt_parameters(keys, V, T, 4, D, True) | {"head": normal(D, V)}
        return {"": steps(p, lambda p: gpt_loss(p, x, y, 4))}
    plain = {
        "small": (small_logits, lambda: {"te": normal(V, D), "f": linear(3 * D, 200), "p": linear(200, V)}),
        "mlp": (mlp_logits, lambda: {"te": normal(V + 1, D), "f": linear(T * D, D), "p": linear(D, V)}),
        "bow": (
            bow_logits,
            lambda: {
                "te": normal(V, D),
                "pe": normal(T, D),
                "f": linear(D, D),
                "p": linear(D, D),
                "head": linear(D, V),
            },
        ),
    }
    if model in plain:
        logits, parameters = plain[model]
        return {"": steps(parameters(), lambda p: cross_entropy(logits(p, x), y))}
    p = {
        "te": normal(V, D),
        "start": jnp.zeros((1, D)),
        "w": linear(2 * D, {"rnn": 1, "gru": 2, "lstm": 4}[model] * D),
        "head": linear(D, V),
    }
    if model == "gru":
        p["g"] = linear(2 * D, D)
    copies = lambda: jax.tree.map(jnp.copy, p)  # each variant gives its own away
    return {
        name: steps(copies(), lambda p, unroll=unroll: cross_entropy(recurrent_logits(model, unroll, p, x), y))
        for name, unroll in {"scan": 1, "written out": T}.items()
    }


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--what", required=True)
    options.add_argument("--budget", type=float, default=1.0)
    given = options.parse_args()
    if given.what == "train/makemore-mlp":
        ways = makemore("small", 256)
    elif found := re.fullmatch(r"train/makemore-(\w+)-b(\d+)", given.what):
        ways = makemore(found[1], int(found[2]))
    else:
        ways = {"": mlp() if given.what == "mlp-1024-b256" else gpt(*GPTS[given.what])}
    rows = {name: timed(call, given.budget) for name, call in ways.items()}
    best = min(rows, key=lambda name: rows[name]["ms"])
    print(
        json.dumps(
            {
                "work": given.what,
                "mode": "jax",
                **rows[best],
                **({"variant": best} if best else {}),
                "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


main()
