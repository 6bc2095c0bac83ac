#!/usr/bin/env python3
"""JAX's side of the rows that it is compared on: the perceptron, and training steps of GPTs (loss, gradients, clipping, AdamW) as one jitted function
whose state is donated.

  peer_jax.py --what ROW [--budget SECONDS]
Prints one JSON line: {"work", "mode": "jax", "ms", "first_ms", "peak_rss_mb"}.
"""
import argparse
import functools
import json
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
    """`call(state)` gives the next state."""
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
    logits = norm(h, p["ln"]) @ p["wte"].T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[..., None], -1).mean()


def adamw(p, g, m, v, t):
    size = jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(g)))
    scale = jnp.minimum(1.0, 1.0 / (size + 1e-6))
    t = t + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * scale * g, m, g)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * (scale * g) ** 2, v, g)
    p = jax.tree.map(lambda p, m, v: p - 3e-4 * ((m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.95**t)) + 1e-8) + 0.1 * p), p, m, v)
    return p, m, v, t


def gpt(vocabulary, positions, length, layers, heads, width, batch, bias):
    keys = iter(jax.random.split(jax.random.key(0), 4 * layers + 4))
    weight = lambda rows, columns: {"w": 0.02 * jax.random.normal(next(keys), (rows, columns)), **({"b": jnp.zeros(columns)} if bias else {})}
    scale = lambda: {"gamma": jnp.ones(width), "beta": jnp.zeros(width)}
    p = {"wte": 0.02 * jax.random.normal(next(keys), (vocabulary, width)), "wpe": 0.02 * jax.random.normal(next(keys), (positions, width)), "ln": scale(),
         "blocks": [{"ln1": scale(), "qkv": weight(width, 3 * width), "out": weight(width, width), "ln2": scale(), "up": weight(width, 4 * width),
                     "down": weight(4 * width, width)} for _ in range(layers)]}
    x, y = (jax.random.randint(next(keys), (batch, length), 0, vocabulary) for _ in "xy")

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state):
        p, m, v, t, _ = state
        loss, g = jax.value_and_grad(gpt_loss)(p, x, y, heads)
        return *adamw(p, g, m, v, t), loss

    zeros = lambda: jax.tree.map(jnp.zeros_like, p)
    start = (p, zeros(), zeros(), jnp.zeros((), jnp.int32), jnp.zeros(()))
    return lambda state: step(start if state is None else state)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--what", required=True)
    options.add_argument("--budget", type=float, default=1.0)
    given = options.parse_args()
    row = timed(mlp() if given.what == "mlp-1024-b256" else gpt(*GPTS[given.what]), given.budget)
    print(json.dumps({"work": given.what, "mode": "jax", **row, "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


main()
