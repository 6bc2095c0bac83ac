#!/usr/bin/env python3
"""PyTorch's first ten steps of a row of peer_torch.py (its options, one row and one mode): prints "ready" when the
model is there, then "step" behind each step or token."""

from torch_parts import definitions

peer = definitions()


def announce(word):
    print(word, flush=True)


def announced(f):
    def call(*inputs):
        out = f(*inputs)
        announce("step")
        return out

    return call


def generation(mode):
    """Ten tokens. An eager model announces each forward; a compiled forward is wrapped, since a hook inside would
    break it up."""
    model, start = peer["gpt2"]()
    if mode == "eager":
        model.register_forward_hook(lambda *_: announce("step"))
    else:
        wrap = peer["wrap"]
        peer["wrap"] = lambda f, *arguments, **options: announced(wrap(f, *arguments, **options))
    return peer["decode"](mode, "sdpa", model, start, 9)


def main():
    work, mode = peer["A"].what, peer["A"].modes
    _, build, variants, _, _ = peer["ROWS"][work]
    if work.startswith("gen/"):
        run = generation(mode)
        announce("ready")
        run()
        return
    step = announced(build(mode, *[v for v in variants[:1] if v]))
    announce("ready")
    for _ in range(10):
        step()


main()
