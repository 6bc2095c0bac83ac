#!/usr/bin/env python3
"""PyTorch's answers for `./x bench --check`: a model of peer_torch.py at its full size with random weights, computed in
f64 from f32 weights.

  peer_torch_answers.py MODEL FILE
Writes FILE (.npz): params.… under the names of our models, x, y, logits, loss and grads.… (not of olmo2-1b), and for
each of these how far PyTorch's own f32 is away from them.
"""

import sys

import numpy as np

MODEL, FILE = sys.argv[1:]
del sys.argv[1:]

import torch
import torch.nn.functional as F

from torch_parts import definitions

peer = definitions()
# Vocabulary, context, layers, heads, width, bias; batch and length.
GPTS = {
    "gpt2-124m": ((50257, 1024, 12, 12, 768, True), (1, 64)),
    "nanogpt-char": ((65, 256, 6, 6, 384, False), (4, 256)),
}
GPT_PARTS = {"l1": "norm1", "a.qkv": "qkv", "a.o": "out", "l2": "norm2", "f": "up", "p": "down"}
OLMO_LAYERS, OLMO_TOKENS = 2, (1, 32)


def gpt_names(name, tensor):
    """The names of examples/nanogpt/model.shf; its linears are [in, out]."""
    if name in ("te.weight", "pe.weight"):
        yield {"te.weight": "token", "pe.weight": "position"}[name], tensor
        return
    module, kind = name.rsplit(".", 1)
    if module.startswith("b."):
        _, layer, part = module.split(".", 2)
        ours, linear = f"blocks.{layer}.{GPT_PARTS[part]}", part not in ("l1", "l2")
    else:
        ours, linear = "norm", False
    if linear:
        yield f"{ours}.{'W' if kind == 'weight' else 'b'}", tensor.T if kind == "weight" else tensor
    else:
        yield f"{ours}.{'gamma' if kind == 'weight' else 'beta'}", tensor


def olmo_names(name, tensor):
    """Hugging Face's names, with separate products in attention and in the feed-forward layer."""
    whole = {"e.weight": "model.embed_tokens.weight", "ln.weight": "model.norm.weight", "head.weight": "lm_head.weight"}
    if name in whole:
        yield whole[name], tensor
        return
    _, layer, part, _ = name.split(".")
    parts = {
        "qkv": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
        "gu": ["mlp.gate_proj", "mlp.up_proj"],
        "o": ["self_attn.o_proj"],
        "w": ["mlp.down_proj"],
        "qn": ["self_attn.q_norm"],
        "kn": ["self_attn.k_norm"],
        "an": ["post_attention_layernorm"],
        "fn": ["post_feedforward_layernorm"],
    }[part]
    for ours, piece in zip(parts, tensor.chunk(len(parts))):
        yield f"model.layers.{layer}.{ours}.weight", piece


def gpt():
    shape, size = GPTS[MODEL]
    return peer["GPT"](*shape), shape[0], size, gpt_names, True


def olmo():
    model = peer["Olmo"](OLMO_LAYERS).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.02) if p.dim() > 1 else p.fill_(1.0)
    return model.room(OLMO_TOKENS[1], cache=False), 100352, OLMO_TOKENS, olmo_names, False


def answers(model, x, y, names, gradients):
    with torch.set_grad_enabled(gradients):
        logits = model(x, last=False)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    found = {"logits": logits.detach(), "loss": loss.detach()}
    if gradients:
        model.zero_grad()
        loss.backward()
        found |= {
            f"grads.{ours}": piece
            for name, p in model.named_parameters()
            for ours, piece in names(name, p.grad.detach())
        }
    return {name: value.double().numpy().copy() for name, value in found.items()}


def apart(value, exact):
    """The largest difference, relative to the largest number."""
    return np.abs(value - exact).max() / max(np.abs(exact).max(), 1e-30)


def main():
    torch.manual_seed(0)
    model, vocabulary, size, names, gradients = olmo() if MODEL == "olmo2-1b" else gpt()
    x, y = (torch.randint(vocabulary, size) for _ in "xy")
    given = {
        f"params.{ours}": piece.numpy().copy()
        for name, p in model.named_parameters()
        for ours, piece in names(name, p.detach())
    }
    rounded = answers(model, x, y, names, gradients)
    model.double()
    if MODEL == "olmo2-1b":
        model.room(OLMO_TOKENS[1], cache=False)  # the rotations in f64 too
    exact = answers(model, x, y, names, gradients)
    np.savez(
        FILE,
        x=x.numpy().astype(np.int32),
        y=y.numpy().astype(np.int32),
        **given,
        **{name: value.astype(np.float32) for name, value in exact.items()},
        **{f"f32.{name}": np.float32(apart(rounded[name], value)) for name, value in exact.items()},
    )


main()
