#!/usr/bin/env python3
"""Writes *.cases: random well-typed programs with the answers NumPy and JAX give.

    python3 make_programs.py [--count 2000] [--seed 1] [--out .]      (needs numpy, jax, ml_dtypes)

A program is built as a tree whose every node carries its text and a Python function that computes it, so the answer
never passes through our own code. Answers are computed in float64. A program is kept only if the answer is well
conditioned: the same computation in float32 agrees to a quarter of the tolerance of the cases, and moving the inputs by
1e-4 in either direction moves the answer by little (which also throws out kinks, ties and jumps).
"""

import argparse
import math
import os
import random
import zlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_threefry_partitionable", True)
np.seterr(all="ignore")

REL, ABS = 2e-5, 2e-6  # the tolerance written into the files


class Reject(Exception):
    pass


# --- nodes -----------------------------------------------------------------------------------------------------------


class N:
    """A subexpression: text, shape, and fn(env) -> array. env["xp"] is numpy or jax.numpy, env["dt"] the float type."""

    def __init__(self, text, shape, fn):
        self.text, self.shape, self.fn = text, tuple(shape), fn
        if any(d > 10 for d in self.shape) or len(text) > 900:
            raise Reject


def number(x):
    return repr(int(x)) if float(x).is_integer() else repr(float(x))


def float_text(x):
    return repr(float(x))


def literal_text(a):
    if a.ndim == 0:
        return float_text(a)
    return "[" + " ".join(literal_text(x) if a.ndim > 1 else number(x) for x in a) + "]"


def shape_text(s):
    return "[" + " ".join(map(str, s)) + "]"


def sigmoid(xp, x):
    return 1 / (1 + xp.exp(-x))


def softmax(xp, x, axis=-1):
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def log_softmax(xp, x, axis=-1):
    s = x - xp.max(x, axis=axis, keepdims=True)
    return s - xp.log(xp.sum(xp.exp(s), axis=axis, keepdims=True))


def erf(xp, x):
    if xp is jnp:
        return jax.scipy.special.erf(x)
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(np.asarray(x).dtype)


def logsumexp(xp, x, axis=None):
    m = xp.max(x, axis=axis, keepdims=True)
    r = xp.log(xp.sum(xp.exp(x - m), axis=axis, keepdims=True)) + m
    return xp.sum(r, axis=axis)


def largest(xp, x, axis=None, keepdims=False):
    """The maximum, with the language's derivative: every tied element gets the whole adjoint (JAX shares it out)."""
    if xp is np:
        return np.max(x, axis=axis, keepdims=keepdims)
    top = jax.lax.stop_gradient(jnp.max(x, axis=axis, keepdims=True))
    moved = top + jnp.sum(jnp.where(x == top, x - jax.lax.stop_gradient(x), 0), axis=axis, keepdims=True)
    return moved if keepdims else jnp.sum(moved, axis=axis)


def reduce_with(xp, op, x, axis=None, keepdims=False):
    if op == "max":
        return largest(xp, x, axis, keepdims)
    if op == "min":
        return -largest(xp, -x, axis, keepdims)
    return getattr(xp, {"product": "prod"}.get(op, op))(x, axis=axis, keepdims=keepdims)


UNARY = {
    "sin": lambda xp, x: xp.sin(x),
    "cos": lambda xp, x: xp.cos(x),
    "tanh": lambda xp, x: xp.tanh(x),
    "exp": lambda xp, x: xp.exp(x),
    "sigmoid": sigmoid,
    "silu": lambda xp, x: x * sigmoid(xp, x),
    "gelu": lambda xp, x: 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x))),
    "relu": lambda xp, x: xp.where(x >= 0, x, 0 * x),
    "abs": lambda xp, x: xp.abs(x),
    "-": lambda xp, x: -x,
    "expm1": lambda xp, x: xp.expm1(x),
    "erf": erf,
    "selu": lambda xp, x: 1.0507009873554805 * xp.where(x > 0, x, 1.6732632423543772 * (xp.exp(xp.minimum(x, 0)) - 1)),
    "celu": lambda xp, x: xp.where(x > 0, x, xp.exp(xp.minimum(x, 0)) - 1),
    "inc": lambda xp, x: x + 1,
    "dec": lambda xp, x: x - 1,
}
POSITIVE_UNARY = {"log": lambda xp, x: xp.log(x), "sqrt": lambda xp, x: xp.sqrt(x), "log1p": lambda xp, x: xp.log1p(x)}


class Gen:
    """Makes random float expressions of a wanted shape from the variables in scope."""

    def __init__(self, rng, data):
        self.r = rng
        self.data = data  # numpy generator for literals
        self.fresh = 0

    def name(self, stem="t"):
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def values(self, shape):
        # Multiples of 1/16: exact in every float type used, and short to print.
        return self.data.integers(-32, 33, size=shape) / 16.0

    def constant(self, shape):
        a = np.asarray(self.values(shape))
        return N(literal_text(a), shape, lambda env: env["xp"].asarray(a, dtype=env["dt"]))

    def scalar(self):
        v = self.r.choice([0.5, -0.25, 2.0, 1.5, -1.0, 0.125, 3.0, -0.75])
        return N(float_text(v), (), lambda env: v)

    def leaf(self, shape, scope):
        names = [n for n, s in scope.items() if s == shape]
        if names and self.r.random() < 0.9:
            n = self.r.choice(names)
            return N(n, shape, lambda env: env[n])
        return self.from_variable(shape, scope) or (self.constant(shape) if shape else self.scalar())

    def from_variable(self, shape, scope):
        """A variable of another shape bent to this one, or None."""
        names = [(n, s) for n, s in scope.items() if s != shape]
        self.r.shuffle(names)
        for n, s in names:
            if not shape and s:
                op = self.r.choice(["sum", "mean", "max", "min"])
                return N(f"({op} {n})", (), lambda env: reduce_with(env["xp"], op, env[n]))
            if s and shape and math.prod(s) == math.prod(shape):
                return N(f"(reshape {n} {shape_text(shape)})", shape, lambda env: env["xp"].reshape(env[n], shape))
            if len(s) < len(shape) and s and s == shape[len(shape) - len(s) :]:
                return N(
                    f"(broadcast-to {n} {shape_text(shape)})", shape, lambda env: env["xp"].broadcast_to(env[n], shape)
                )
        return None

    # Each rule returns a node of the wanted shape or None when it does not apply.

    def expr(self, shape, depth, scope):
        shape = tuple(shape)
        if depth <= 0:
            return self.leaf(shape, scope)
        for _ in range(20):
            rule = self.r.choice(RULES)
            node = rule(self, shape, depth - 1, scope)
            if node is not None:
                return node
        return self.leaf(shape, scope)

    def positive(self, shape, depth, scope):
        x = self.expr(shape, depth, scope)
        c = self.r.choice([0.5, 1.0, 1.5])
        return (
            N(f"(+ (* {x.text} {x.text}) {c})", shape, lambda env: x.fn(env) * x.fn(env) + c)
            if len(x.text) < 12
            else N(f"(+ (exp (sin {x.text})) {c})", shape, lambda env: env["xp"].exp(env["xp"].sin(x.fn(env))) + c)
        )

    def unary(self, shape, depth, scope):
        if self.r.random() < 0.25:
            op, f = self.r.choice(list(POSITIVE_UNARY.items()))
            x = self.positive(shape, depth, scope)
        else:
            op, f = self.r.choice(list(UNARY.items()))
            x = self.expr(shape, depth, scope)
        return N(f"({op} {x.text})", shape, lambda env: f(env["xp"], x.fn(env)))

    def binary(self, shape, depth, scope):
        a, b = self.expr(shape, depth, scope), self.expr(self.broadcastable(shape), depth - 1, scope)
        op = self.r.choice(["+", "-", "*", "/", "maximum", "minimum"])
        if op == "/":
            b = self.positive(b.shape, depth - 1, scope)
        elif self.r.random() < 0.4:
            a, b = b, a
        f = {
            "+": lambda xp, x, y: x + y,
            "-": lambda xp, x, y: x - y,
            "*": lambda xp, x, y: x * y,
            "/": lambda xp, x, y: x / y,
            "maximum": lambda xp, x, y: xp.where(x >= y, x, y),
            "minimum": lambda xp, x, y: xp.where(x <= y, x, y),
        }[op]
        return N(f"({op} {a.text} {b.text})", shape, lambda env: f(env["xp"], a.fn(env), b.fn(env)))

    def nary(self, shape, depth, scope):
        parts = [self.expr(shape, depth - 1, scope) for _ in range(3)]
        op = self.r.choice(["+", "*", "-"])

        def fn(env):
            v = parts[0].fn(env)
            for p in parts[1:]:
                w = p.fn(env)
                v = v + w if op == "+" else v * w if op == "*" else v - w
            return v

        return N(f"({op} {' '.join(p.text for p in parts)})", shape, fn)

    def broadcastable(self, shape):
        k = self.r.random()
        if k < 0.45 or not shape:
            return shape
        if k < 0.6:
            return ()
        if k < 0.8:
            return shape[self.r.randrange(len(shape)) :]
        return tuple(1 if self.r.random() < 0.5 else d for d in shape)

    def power(self, shape, depth, scope):
        if self.r.random() < 0.5:
            x, e = self.expr(shape, depth, scope), self.r.choice([2, 3, 2.0])
            return N(f"(** {x.text} {e})", shape, lambda env: x.fn(env) ** int(e))
        x = self.positive(shape, depth, scope)
        if self.r.random() < 0.5:
            e = self.r.choice([0.5, -0.5, 1.5, -1, 0.25])
            return N(f"(** {x.text} {e})", shape, lambda env: x.fn(env) ** float(e))
        y = self.expr(self.broadcastable(shape), depth - 1, scope)
        return N(
            f"(** {x.text} {y.text})",
            shape,
            lambda env: env["xp"].power(x.fn(env), y.fn(env) * env["xp"].ones((), env["dt"])),
        )

    def where(self, shape, depth, scope):
        c, d = self.expr(shape, depth - 1, scope), self.expr(self.broadcastable(shape), 0, scope)
        a, b = self.expr(shape, depth, scope), self.expr(self.broadcastable(shape), depth - 1, scope)
        op = self.r.choice(["<", ">", "<=", ">="])
        f = {"<": lambda x, y: x < y, ">": lambda x, y: x > y, "<=": lambda x, y: x <= y, ">=": lambda x, y: x >= y}[op]
        return N(
            f"(where ({op} {c.text} {d.text}) {a.text} {b.text})",
            shape,
            lambda env: env["xp"].where(f(c.fn(env), d.fn(env)), a.fn(env), b.fn(env)),
        )

    def clip(self, shape, depth, scope):
        x = self.expr(shape, depth, scope)
        lo, hi = self.r.choice([(-1, 1), (-0.5, 2), (0, 1.5)])
        op = self.r.choice(["clip", "clamp"])
        return N(
            f"({op} {x.text} {lo} {hi})", shape, lambda env: env["xp"].minimum(env["xp"].maximum(x.fn(env), lo), hi)
        )

    def reduction(self, shape, depth, scope):
        axis = self.r.randrange(len(shape) + 1)
        n = self.r.choice([1, 2, 3, 4, 5])
        inner = shape[:axis] + (n,) + shape[axis:]
        if len(inner) > 4 or math.prod(inner) > 48:
            return None
        x = self.expr(inner, depth, scope)
        op = self.r.choice(["sum", "mean", "max", "min", "var", "product", "logsumexp", "std", "norm"])
        if op in ("std", "norm") and n == 1:
            op = "sum"
        shown = axis - len(inner) if self.r.random() < 0.4 else axis

        def fn(env):
            xp, v = env["xp"], x.fn(env)
            v = xp.broadcast_to(v, inner)
            if op == "logsumexp":
                return logsumexp(xp, v, axis)
            if op == "norm":
                return xp.sqrt(xp.sum(v * v, axis=axis))
            return reduce_with(xp, op, v, axis)

        if not shape and self.r.random() < 0.6:
            return N(f"({op} {x.text})", shape, fn)
        return N(f"({op} {x.text} :axis {shown})", shape, fn)

    def keepdims(self, shape, depth, scope):
        ones = [i for i, d in enumerate(shape) if d == 1]
        if not ones:
            return None
        axis = self.r.choice(ones)
        inner = shape[:axis] + (self.r.choice([2, 3, 4]),) + shape[axis + 1 :]
        x = self.expr(inner, depth, scope)
        op = self.r.choice(["sum", "mean", "max", "min", "var"])
        flag = self.r.choice([":keepdims", ":keepdims true"])
        return N(
            f"({op} {x.text} :axis {axis} {flag})",
            shape,
            lambda env: reduce_with(env["xp"], op, env["xp"].broadcast_to(x.fn(env), inner), axis, True),
        )

    def total(self, shape, depth, scope):
        if shape:
            return None
        inner = self.r.choice([(3,), (2, 3), (4,), (2, 2, 2), (3, 2)])
        x = self.expr(inner, depth, scope)
        op = self.r.choice(["sum", "mean", "max", "min", "var", "logsumexp"])
        f = logsumexp if op == "logsumexp" else lambda xp, v: reduce_with(xp, op, v)
        return N(f"({op} {x.text})", (), lambda env: f(env["xp"], env["xp"].broadcast_to(x.fn(env), inner)))

    def movement(self, shape, depth, scope):
        if not shape:
            return None
        n = len(shape)
        axis = self.r.randrange(n)
        kind = self.r.choice(
            [
                "reshape",
                "transpose",
                "swapaxes",
                "slice",
                "concat",
                "stack",
                "pad",
                "flip",
                "roll",
                "get",
                "gather",
                "take",
                "at",
                "tile",
                "squeeze",
                "expand",
                "moveaxis",
                "split",
                "rollflat",
                "index-update",
                "tril",
                "at-set",
            ]
        )
        if kind == "reshape":
            sizes = list(shape)
            self.r.shuffle(sizes)
            inner = self.r.choice([tuple(sizes), (math.prod(shape),), tuple(reversed(shape)) + (1,)])
            if any(d > 10 for d in inner):
                return None
            x = self.expr(inner, depth, scope)
            target = list(shape)
            if self.r.random() < 0.4:
                target[self.r.randrange(n)] = -1
            return N(
                f"(reshape {x.text} {self.r.choice([chr(39), ''])}{shape_text(target)})",
                shape,
                lambda env: env["xp"].reshape(env["xp"].broadcast_to(x.fn(env), inner), shape),
            )
        if kind == "transpose" and n in (2, 3):
            if n == 2:
                x = self.expr(shape[::-1], depth, scope)
                return N(
                    f"({self.r.choice(['tr', 'transpose'])} {x.text})",
                    shape,
                    lambda env: env["xp"].transpose(full(env, x)),
                )
            perm = list(range(n))
            self.r.shuffle(perm)
            inner = [0] * n
            for i, p in enumerate(perm):
                inner[p] = shape[i]
            x = self.expr(inner, depth, scope)
            return N(f"(tr {x.text} '{shape_text(perm)})", shape, lambda env: env["xp"].transpose(full(env, x), perm))
        if kind == "swapaxes" and n >= 2:
            a, b = self.r.sample(range(n), 2)
            inner = list(shape)
            inner[a], inner[b] = inner[b], inner[a]
            x = self.expr(inner, depth, scope)
            return N(f"(swapaxes {x.text} {a} {b - n})", shape, lambda env: env["xp"].swapaxes(full(env, x), a, b))
        if kind == "moveaxis" and n >= 2:
            a, b = self.r.randrange(n), self.r.randrange(n)
            inner = list(shape)
            inner.insert(a, inner.pop(b))
            x = self.expr(inner, depth, scope)
            return N(f"(moveaxis {x.text} {a} {b})", shape, lambda env: env["xp"].moveaxis(full(env, x), a, b))
        if kind == "slice":
            lo, more = self.r.randrange(3), self.r.randrange(3)
            inner = list(shape)
            inner[axis] += lo + more
            x = self.expr(inner, depth, scope)
            end = "" if more == 0 and self.r.random() < 0.5 else f" {lo + shape[axis]}"
            option = "" if axis == 0 and self.r.random() < 0.6 else f" :axis {axis}"
            index = tuple(slice(lo, lo + shape[axis]) if i == axis else slice(None) for i in range(n))
            return N(f"(slice {x.text} {lo}{end}{option})", shape, lambda env: full(env, x)[index])
        if kind == "concat" and shape[axis] >= 2:
            k = self.r.randrange(1, shape[axis])
            sizes = [k, shape[axis] - k]
            parts = [self.expr(shape[:axis] + (s,) + shape[axis + 1 :], depth, scope) for s in sizes]
            option = "" if axis == 0 else f" :axis {self.r.choice([axis, axis - n])}"
            return N(
                f"(concat {' '.join(p.text for p in parts)}{option})",
                shape,
                lambda env: env["xp"].concatenate([full(env, p) for p in parts], axis=axis),
            )
        if kind == "stack" and shape[axis] in (2, 3):
            parts = [self.expr(shape[:axis] + shape[axis + 1 :], depth - 1, scope) for _ in range(shape[axis])]
            option = "" if axis == 0 else f" :axis {axis}"
            if n == 1:
                return None
            return N(
                f"(stack (list {' '.join(p.text for p in parts)}){option})",
                shape,
                lambda env: env["xp"].stack([full(env, p) for p in parts], axis=axis),
            )
        if kind == "pad":
            widths = [(self.r.randrange(min(2, d - 1) + 1), 0) for d in shape]
            widths = [(a, self.r.randrange(min(2, d - a - 1) + 1)) for (a, _), d in zip(widths, shape)]
            inner = [d - a - b for d, (a, b) in zip(shape, widths)]
            x = self.expr(inner, depth, scope)
            v = self.r.choice([0, 0, 1.5])
            option = f" :value {v}" if v else ""
            text = "[" + " ".join(f"[{a} {b}]" for a, b in widths) + "]"
            return N(
                f"(pad {x.text} {text}{option})",
                shape,
                lambda env: env["xp"].pad(full(env, x), widths, constant_values=v),
            )
        if kind == "flip":
            x = self.expr(shape, depth, scope)
            return N(f"(flip {x.text} :axis {axis})", shape, lambda env: env["xp"].flip(full(env, x), axis=axis))
        if kind == "roll":
            x, k = self.expr(shape, depth, scope), self.r.randrange(-3, 4)
            return N(f"(roll {x.text} {k} :axis {axis})", shape, lambda env: env["xp"].roll(full(env, x), k, axis=axis))
        if kind == "rollflat":
            x, k = self.expr(shape, depth, scope), self.r.randrange(-3, 4)
            return N(f"(roll {x.text} {k})", shape, lambda env: env["xp"].roll(full(env, x), k))
        if kind == "get" and n <= 3:
            size = self.r.choice([1, 2, 3, 4])
            x, i = self.expr((size,) + shape, depth, scope), self.r.randrange(-size, size)
            text = self.r.choice([f"(get {x.text} {i})", f"(nth {x.text} {i})", f"(at {x.text} {i})"])
            return N(text, shape, lambda env: full(env, x)[i])
        if kind == "gather" and shape[0] <= 5:
            size = self.r.choice([2, 3, 4])
            idx = [self.r.randrange(size) for _ in range(shape[0])]
            x = self.expr((size,) + shape[1:], depth, scope)
            text = self.r.choice(["(get {} {})", "(take {} {} :axis 0)"]).format(x.text, shape_text(idx))
            return N(text, shape, lambda env: full(env, x)[np.array(idx)])
        if kind == "take":
            size = self.r.choice([2, 3, 4])
            idx = [self.r.randrange(size) for _ in range(shape[axis])]
            x = self.expr(shape[:axis] + (size,) + shape[axis + 1 :], depth, scope)
            return N(
                f"(take {x.text} {shape_text(idx)} :axis {axis})",
                shape,
                lambda env: env["xp"].take(full(env, x), np.array(idx), axis=axis),
            )
        if kind == "at" and n <= 3:
            inner, index, words = [], [], []
            for d in shape:
                step = self.r.choice([1, 1, 2, -1])
                if step == 1:
                    lo = self.r.randrange(2)
                    inner.append(d + lo)
                    index.append(slice(lo, lo + d))
                    words.append(":" if lo == 0 else f"(span {lo} {lo + d})")
                elif step == 2:
                    inner.append(2 * d)
                    index.append(slice(None, None, 2))
                    words.append("(span nil nil 2)")
                else:
                    inner.append(d)
                    index.append(slice(None, None, -1))
                    words.append("(span nil nil -1)")
            if self.r.random() < 0.4 and n <= 2:
                where = self.r.randrange(n + 1)
                inner.insert(where, 3)
                index.insert(where, 1)
                words.insert(where, "1")
            if math.prod(inner) > 48:
                return None
            x = self.expr(inner, depth, scope)
            return N(f"(at {x.text} {' '.join(words)})", shape, lambda env: full(env, x)[tuple(index)])
        if kind == "at-set":
            x = self.expr(shape, depth, scope)
            i = self.r.randrange(shape[0])
            v = self.expr(shape[1:], depth - 1, scope)
            op = self.r.choice(["at-set", "at-add"])

            def fn(env):
                rows = [full(env, x)[k] for k in range(shape[0])]
                rows[i] = env["xp"].broadcast_to(v.fn(env) + (rows[i] if op == "at-add" else 0 * rows[i]), shape[1:])
                return env["xp"].stack(rows)

            return N(f"({op} {x.text} {v.text} {i})", shape, fn)
        if kind == "tile":
            k = self.r.choice([2, 3])
            if shape[-1] % k:
                return None
            x = self.expr(shape[:-1] + (shape[-1] // k,), depth, scope)
            return N(f"(tile {x.text} {k})", shape, lambda env: env["xp"].tile(full(env, x), k))
        if kind == "squeeze" and n <= 3:
            x = self.expr(shape[:axis] + (1,) + shape[axis:], depth, scope)
            return N(f"(squeeze {x.text} :axis {axis})", shape, lambda env: env["xp"].squeeze(full(env, x), axis=axis))
        if kind == "expand" and shape[axis] == 1:
            if n == 1:
                return None
            x = self.expr(shape[:axis] + shape[axis + 1 :], depth, scope)
            return N(f"(expand-dims {x.text} {axis})", shape, lambda env: env["xp"].expand_dims(full(env, x), axis))
        if kind == "split" and n <= 3:
            k, i = 2, self.r.randrange(2)
            x = self.expr(shape[:axis] + (k * shape[axis],) + shape[axis + 1 :], depth, scope)
            if math.prod(x.shape) > 48:
                return None
            op = self.r.choice(["split", "tensor-split"])
            return N(
                f"(nth ({op} {x.text} {k} :axis {axis}) {i})",
                shape,
                lambda env: env["xp"].split(full(env, x), k, axis=axis)[i],
            )
        if kind == "index-update":
            x, v, i = self.expr(shape, depth, scope), self.expr(shape[1:], depth - 1, scope), self.r.randrange(shape[0])

            def update(env):
                rows = [full(env, x)[k] for k in range(shape[0])]
                rows[i] = v.fn(env) + 0 * rows[i]
                return env["xp"].stack(rows)

            return N(f"(index-update {x.text} {i} {v.text})", shape, update)
        if kind == "tril" and n == 2:
            x, op = self.expr(shape, depth, scope), self.r.choice(["tril", "triu"])
            return N(f"({op} {x.text})", shape, lambda env: getattr(env["xp"], op)(full(env, x)))
        return None

    def contraction(self, shape, depth, scope):
        k = self.r.choice([1, 2, 3, 4])
        if len(shape) == 2:
            a, b = self.expr((shape[0], k), depth, scope), self.expr((k, shape[1]), depth, scope)
            if self.r.random() < 0.4:
                return N(f'(einsum "ij,jk->ik" {a.text} {b.text})', shape, lambda env: full(env, a) @ full(env, b))
        elif len(shape) == 1:
            if self.r.random() < 0.5:
                a, b = self.expr((shape[0], k), depth, scope), self.expr((k,), depth, scope)
            else:
                a, b = self.expr((k,), depth, scope), self.expr((k, shape[0]), depth, scope)
        elif len(shape) == 0:
            a, b = self.expr((k + 1,), depth, scope), self.expr((k + 1,), depth, scope)
        elif len(shape) == 3:
            a = self.expr((shape[0], shape[1], k), depth, scope)
            b = self.expr((shape[0], k, shape[2]) if self.r.random() < 0.6 else (k, shape[2]), depth, scope)
        else:
            return None
        return N(f"(@ {a.text} {b.text})", shape, lambda env: full(env, a) @ full(env, b))

    def einsum(self, shape, depth, scope):
        out = "abcd"[: len(shape)]
        size = dict(zip(out, shape))
        for s in "ij":
            size[s] = self.r.choice([1, 2, 3])
        letters = list(out) + ["i"] + (["j"] if self.r.random() < 0.4 else [])
        count = self.r.choice([2, 2, 2, 3])
        operands = [[] for _ in range(count)]
        for c in letters:
            for o in self.r.sample(operands, self.r.choice([1, 1, 2]) if count > 1 else 1):
                o.append(c)
        for o in operands:
            self.r.shuffle(o)
            if not o or len(o) > 3 or math.prod(size[c] for c in o) > 36:
                return None
        spec = ",".join("".join(o) for o in operands) + "->" + out
        parts = [self.expr(tuple(size[c] for c in o), depth - 1, scope) for o in operands]
        return N(
            f'(einsum "{spec}" {" ".join(p.text for p in parts)})',
            shape,
            lambda env: env["xp"].einsum(spec, *[full(env, p) for p in parts]),
        )

    def network(self, shape, depth, scope):
        if not shape or shape[-1] < 2:
            return None
        kind = self.r.choice(
            ["softmax", "log-softmax", "layer-norm", "rms-norm", "normalize", "leaky-relu", "linear", "attention"]
        )
        x = self.expr(shape, depth, scope) if kind not in ("linear", "attention", "normalize") else None
        if kind in ("softmax", "log-softmax"):
            f = softmax if kind == "softmax" else log_softmax
            axis = self.r.randrange(len(shape)) if self.r.random() < 0.5 else -1
            option = f" :axis {axis}" if axis != -1 else ""
            return N(f"({kind} {x.text}{option})", shape, lambda env: f(env["xp"], full(env, x), axis))
        if kind == "leaky-relu":
            s = self.r.choice([0.1, 0.25])
            return N(
                f"(leaky-relu {x.text} {s})",
                shape,
                lambda env: env["xp"].maximum(x.fn(env), 0) + s * env["xp"].minimum(x.fn(env), 0),
            )
        if kind == "normalize":
            p = self.positive(shape, depth, scope)
            return N(
                f"(normalize {p.text} :axis -1)",
                shape,
                lambda env: full(env, p) / env["xp"].sum(full(env, p), axis=-1, keepdims=True),
            )
        if kind == "linear" and len(shape) == 2:
            k = self.r.choice([2, 3])
            a, w, b = (
                self.expr((shape[0], k), depth, scope),
                self.expr((k, shape[1]), depth - 1, scope),
                self.expr(shape[1:], 0, scope),
            )
            return N(f"(linear {a.text} {w.text} {b.text})", shape, lambda env: full(env, a) @ full(env, w) + b.fn(env))
        if kind == "attention" and len(shape) == 2:
            k = self.r.choice([2, 3])
            q, kk, v = (
                self.expr((shape[0], k), depth - 1, scope),
                self.expr((shape[0], k), depth - 1, scope),
                self.expr(shape, depth - 1, scope),
            )
            causal = self.r.random() < 0.5

            def fn(env):
                xp = env["xp"]
                s = full(env, q) @ xp.swapaxes(full(env, kk), 0, 1) / math.sqrt(k)
                if causal:
                    s = xp.where(np.tril(np.ones((shape[0], shape[0]))) > 0, s, -1e30)
                return softmax(xp, s) @ full(env, v)

            return N(f"(attention {q.text} {kk.text} {v.text}{' :causal true' if causal else ''})", shape, fn)
        if kind in ("layer-norm", "rms-norm"):
            g, b = self.expr(shape[-1:], 0, scope), self.expr(shape[-1:], 0, scope)

            def norm(env):
                xp, v = env["xp"], full(env, x)
                if kind == "layer-norm":
                    m = xp.mean(v, axis=-1, keepdims=True)
                    y = (v - m) / xp.sqrt(xp.mean((v - m) ** 2, axis=-1, keepdims=True) + 1e-5)
                else:
                    y = v / xp.sqrt(xp.mean(v * v, axis=-1, keepdims=True) + 1e-6)
                return y * g.fn(env) + b.fn(env)

            return N(f"({kind} {x.text} {{:gamma {g.text} :beta {b.text}}} -1)", shape, norm)
        return None

    def ordered(self, shape, depth, scope):
        if not shape:
            return None
        axis = self.r.randrange(len(shape))
        kind = self.r.choice(["cumsum", "cumprod", "sort", "sort-reverse", "top_k", "take-along"])
        x = self.expr(shape, depth, scope)
        if kind in ("cumsum", "cumprod"):
            return N(
                f"({kind} {x.text} :axis {axis})", shape, lambda env: getattr(env["xp"], kind)(full(env, x), axis=axis)
            )
        if kind == "sort":
            return N(f"(sort {x.text} :axis {axis})", shape, lambda env: env["xp"].sort(full(env, x), axis=axis))
        if kind == "sort-reverse":
            return N(
                f"(sort {x.text} :reverse)",
                shape,
                lambda env: env["xp"].flip(env["xp"].sort(full(env, x), axis=-1), axis=-1),
            )
        if kind == "top_k" and len(shape) == 1:
            x = self.expr((shape[0] + 2,), depth, scope)
            return N(
                f"(first (top_k {x.text} {shape[0]}))",
                shape,
                lambda env: env["xp"].flip(env["xp"].sort(full(env, x)))[: shape[0]],
            )
        if kind == "take-along" and len(shape) == 2 and axis == 1:
            size = self.r.choice([2, 3])
            idx = np.array([[self.r.randrange(size) for _ in range(shape[1])] for _ in range(shape[0])])
            x = self.expr((shape[0], size), depth, scope)
            return N(
                f"(take-along-axis {x.text} {literal_text(idx)} 1)",
                shape,
                lambda env: env["xp"].take_along_axis(full(env, x), idx, axis=1),
            )
        return None

    def binding(self, shape, depth, scope):
        inner = self.r.choice([shape, (), (3,), (2, 3)])
        t = self.name()
        bound = self.expr(inner, depth, scope)
        body = self.expr(shape, depth, {**scope, t: inner})
        form = self.r.choice(["let", "fn", "as->", "->"])
        if form == "let":
            text = f"(let [{t} {bound.text}] {body.text})"
        elif form == "fn":
            text = f"((fn [{t}] {body.text}) {bound.text})"
        elif form == "as->":
            text = f"(as-> {bound.text} {t} {body.text})"
        else:
            text = f"(let [g{t} (fn [{t}] {body.text})] (-> {bound.text} g{t}))"
        return N(text, shape, lambda env: body.fn({**env, t: full(env, bound)}))

    def container(self, shape, depth, scope):
        a, b = self.expr(shape, depth, scope), self.expr(self.r.choice([shape, (), (2,)]), depth - 1, scope)
        form = self.r.choice(["dict", "list", "get-in", "with-params", "destructure", "tree-map"])
        if form == "dict":
            text = f"(get {{:u {a.text} :v {b.text}}} :u)"
        elif form == "list":
            text = f"(first (list {a.text} {b.text}))"
        elif form == "get-in":
            text = f"(get-in {{:m {{:u {a.text}}} :v {b.text}}} '[:m :u])"
        elif form == "with-params":
            d = self.name("d")
            text = f"(let [{d} {{:gain {a.text} :other {b.text}}}] (with-params [{d}] (* gain 1.0)))"
        elif form == "destructure":
            u, v = self.name(), self.name()
            text = f"(let [[{u} {v}] (list {a.text} {b.text})] {u})"
        else:
            t = self.name()
            text = f"(get (tree-map (fn [{t}] (* 2.0 {t})) {{:u {a.text} :v {b.text}}}) :u)"
            return N(text, shape, lambda env: 2.0 * a.fn(env))
        return N(text, shape, a.fn)

    def batched(self, shape, depth, scope):
        if not shape or len(shape) > 3:
            return None
        inner = self.r.choice([shape[1:], (2,), (3,), ()])
        row = self.name("r")
        xs = self.expr((shape[0],) + inner, depth, scope)
        body = self.expr(shape[1:], depth, {**scope, row: inner})

        def fn(env):
            v = full(env, xs)
            return env["xp"].stack(
                [env["xp"].broadcast_to(body.fn({**env, row: v[i]}), shape[1:]) for i in range(shape[0])]
            )

        return N(f"((vmap (fn [{row}] {body.text})) {xs.text})", shape, fn) if row in body.text else None

    def fold(self, shape, depth, scope):
        acc, item = self.name("a"), self.name("x")
        size = self.r.choice([1, 2, 3])
        inner = self.r.choice([shape, ()])
        init = self.expr(shape, 0, scope)
        kind = self.r.choice(["reduce", "repeat", "scan", "loop"])
        if kind in ("repeat", "loop"):
            body = self.expr(shape, depth, {**scope, acc: shape})
            if acc not in body.text:
                return None

            def fn(env):
                v = full(env, init)
                for k in range(size):
                    v = env["xp"].broadcast_to(body.fn({**env, acc: v}) + 0.125 * k, shape)
                return v

            if kind == "repeat":
                return N(f"(repeat [i {size}] [{acc} {init.text}] (+ {body.text} (* 0.125 i)))", shape, fn)
            return N(
                f"(loop [i 0 {acc} {init.text}] (if (< i {size}) (recur (inc i) (+ {body.text} (* 0.125 i))) {acc}))",
                shape,
                fn,
            )
        body = self.expr(shape, depth, {**scope, acc: shape, item: inner})
        if acc not in body.text or item not in body.text:
            return None
        xs = self.expr((size,) + inner, depth, scope)

        def fold(env):
            v, w = full(env, init), full(env, xs)
            for k in range(size):
                v = env["xp"].broadcast_to(body.fn({**env, acc: v, item: w[k]}), shape)
            return v

        if kind == "reduce":
            return N(f"(reduce (fn [{acc} {item}] {body.text}) {init.text} {xs.text})", shape, fold)
        return N(
            f"(first (scan (fn [{acc} {item}] (let [n {body.text}] (list n (* n 2)))) {init.text} {xs.text}))",
            shape,
            fold,
        )

    def scan_stack(self, shape, depth, scope):
        if not shape or len(shape) > 3:
            return None
        acc, item = self.name("a"), self.name("x")
        inner = self.r.choice([shape[1:], ()])
        init, xs = self.expr(shape[1:], 0, scope), self.expr((shape[0],) + inner, depth, scope)
        body = self.expr(shape[1:], depth, {**scope, acc: shape[1:], item: inner})

        def fn(env):
            v, w, out = full(env, init), full(env, xs), []
            for k in range(shape[0]):
                out.append(v)
                v = env["xp"].broadcast_to(body.fn({**env, acc: v, item: w[k]}), shape[1:])
            return env["xp"].stack(out)

        return N(
            f"(second (scan (fn [{acc} {item}] (list {body.text} {acc})) {init.text} {xs.text} :stack))", shape, fn
        )

    def conditional(self, shape, depth, scope):
        c = self.expr((), depth - 1, scope)
        a, b = self.expr(shape, depth, scope), self.expr(shape, depth - 1, scope)
        limit = self.r.choice([0, 0.5, -1])
        form = self.r.choice(["if", "if", "cond", "case"])
        if form == "if":
            text = f"(if (> {c.text} {limit}) {a.text} {b.text})"
        elif form == "cond":
            text = f"(cond (> {c.text} {limit}) {a.text} :else {b.text})"
        else:
            text = f"(case (> {c.text} {limit}) true {a.text} {b.text})"
        return N(text, shape, lambda env: env["xp"].where(c.fn(env) > limit, full(env, a), full(env, b)))


def full(env, node):
    """The node's value as an array of its own shape (a Python number or a smaller array may stand for it)."""
    return env["xp"].broadcast_to(env["xp"].asarray(node.fn(env), dtype=env["dt"]), node.shape)


RULES = (
    [Gen.unary] * 4
    + [Gen.binary] * 5
    + [Gen.nary, Gen.power, Gen.where, Gen.clip]
    + [Gen.reduction] * 3
    + [Gen.total] * 2
    + [Gen.keepdims]
    + [Gen.movement] * 7
    + [Gen.contraction] * 3
    + [Gen.einsum] * 2
    + [Gen.network] * 3
    + [Gen.ordered] * 2
    + [Gen.binding] * 2
    + [Gen.container]
    + [Gen.batched] * 2
    + [Gen.fold] * 2
    + [Gen.scan_stack, Gen.conditional]
)


# --- rendering -------------------------------------------------------------------------------------------------------


def show(x):
    if isinstance(x, str):
        return x
    if isinstance(x, dict):
        items = [f":{k} {show(v)}" for k, v in sorted(x.items())]
        return "{" + (",\n" if any("\n" in i for i in items) else ", ").join(items) + "}"
    if isinstance(x, (list, tuple)):
        items = [show(v) for v in x]
        text = (",\n" if any("\n" in i for i in items) else ", ").join(items)
        return f"[{text}]" if isinstance(x, list) else f"({text})"
    a = np.asarray(x)
    if a.ndim == 0:
        return element(a[()])
    if a.shape[0] == 0 or any(d > 10 for d in a.shape):
        raise Reject
    return "[" + (" " if a.ndim == 1 else "\n").join(show(v) for v in a) + "]"


def element(v):
    if isinstance(v, (bool, np.bool_)):
        return "true" if v else "false"
    if isinstance(v, (int, np.integer)):
        return str(int(v))
    v = float(v)
    if not math.isfinite(v):
        raise Reject
    return f"{v:.8g}" if v else "0"


def leaves(x):
    if isinstance(x, dict):
        return [l for k in sorted(x) for l in leaves(x[k])]
    if isinstance(x, (list, tuple)):
        return [l for v in x for l in leaves(v)]
    return [] if isinstance(x, str) else [np.asarray(x, dtype=np.float64)]


def check_conditioning(run, inputs, data):
    """The float64 answer of run(inputs, dtype), if it is safe to compare a float32 computation with it."""
    exact = run(inputs, np.float64)
    low = run(inputs, np.float32)
    for a, b in zip(leaves(exact), leaves(low)):
        if a.shape != b.shape or not np.all(np.isfinite(a)) or not np.all(np.isfinite(b)) or np.any(np.abs(a) > 1e5):
            raise Reject
        if np.any(np.abs(a - b) > 0.25 * (ABS + REL * np.abs(a))):
            raise Reject
    direction = {
        k: data.choice([-1.0, 1.0], size=np.shape(v)) * data.uniform(0.5, 1.0, size=np.shape(v))
        for k, v in inputs.items()
    }
    for sign in (1e-4, -1e-4):
        moved = run({k: v + sign * direction[k] for k, v in inputs.items()}, np.float64)
        for a, b in zip(leaves(exact), leaves(moved)):
            if np.any(np.abs(a - b) > 0.03 * (1 + np.abs(a))):
                raise Reject
    return exact


# --- families of programs --------------------------------------------------------------------------------------------

SHAPES = [(), (3,), (4,), (2, 3), (3, 2), (2, 2), (1, 3), (2, 1), (5,), (2, 2, 3), (1,), (3, 1, 2)]


def pick_inputs(g, count):
    shapes = [g.r.choice(SHAPES) for _ in range(count)]
    return {f"{n}": np.asarray(g.values(s)) for n, s in zip("pqw", shapes)}


def environment(inputs, xp, dt):
    return {**{k: xp.asarray(v, dtype=dt) for k, v in inputs.items()}, "xp": xp, "dt": dt}


def scope_of(inputs):
    return {k: v.shape for k, v in inputs.items()}


def value_program(g):
    inputs = pick_inputs(g, g.r.choice([1, 2, 2, 3]))
    body = g.expr(g.r.choice(SHAPES), g.r.choice([2, 3, 3, 4]), scope_of(inputs))
    used = {k: v for k, v in inputs.items() if uses(body.text, k)}
    answer = check_conditioning(lambda i, dt: full(environment(i, np, dt), body), used, g.data)
    style = g.r.choice(["def", "let", "defn"])
    if style == "def":
        text = "".join(f"(def {k} {literal_text(v)})\n" for k, v in used.items()) + body.text
    elif style == "let":
        text = (
            f"(let [{' '.join(f'{k} {literal_text(v)}' for k, v in used.items())}]\n  {body.text})"
            if used
            else body.text
        )
    else:
        text = f"(defn f [{' '.join(used)}]\n  {body.text})\n(f {' '.join(literal_text(v) for v in used.values())})"
    return text, answer


def uses(text, name):
    words = text.replace("(", " ").replace(")", " ").replace("[", " ").replace("]", " ").replace("}", " ").split()
    return name in words


def scalar_loss(g, scope, depth):
    body = g.expr(g.r.choice([(), (), (3,), (2, 3), (2,)]), depth, scope)
    if not body.shape:
        return body
    op = g.r.choice(["sum", "mean"])
    if g.r.random() < 0.5:
        return N(f"({op} (** {body.text} 2))", (), lambda env: getattr(env["xp"], op)(full(env, body) ** 2))
    return N(f"({op} {body.text})", (), lambda env: getattr(env["xp"], op)(full(env, body)))


def jitted(f):
    """run(inputs, dtype) that compiles f once for each dtype."""
    compiled = jax.jit(f, static_argnums=1)
    return lambda inputs, dt: jax.tree.map(
        np.asarray, compiled({k: jnp.asarray(v, dtype=dt) for k, v in inputs.items()}, dt)
    )


def gradient_program(g):
    inputs = pick_inputs(g, g.r.choice([1, 2, 3]))
    loss = scalar_loss(g, scope_of(inputs), g.r.choice([2, 3, 3]))
    if not any(uses(loss.text, k) for k in inputs):
        raise Reject
    params = "{" + " ".join(f":{k} {literal_text(v)}" for k, v in inputs.items()) + "}"

    def run(i, dt):
        return list(jax.value_and_grad(lambda i: full({**i, "xp": jnp, "dt": dt}, loss))(i))

    answer = check_conditioning(jitted(run), inputs, g.data)
    fields = " ".join(f"{k} (get m :{k})" for k in inputs)
    style = g.r.choice(["let", "destructure", "with-params", "defn", "grad"])
    if style == "let":
        return f"((value-and-grad (fn [m] (let [{fields}]\n  {loss.text})))\n {params})", answer
    if style == "destructure":
        return f"((value-and-grad (fn [{{:keys [{' '.join(inputs)}]}}]\n  {loss.text}))\n {params})", answer
    if style == "with-params":
        return f"((value-and-grad (fn [m] (with-params [m]\n  {loss.text})))\n {params})", answer
    if style == "defn":
        return f"(defn loss [m] (let [{fields}]\n  {loss.text}))\n((value-and-grad loss) {params})", answer
    names = " ".join(inputs)
    nums = "'[" + " ".join(str(i) for i in range(len(inputs))) + "]"
    return (
        f"((value-and-grad (fn [{names}]\n  {loss.text}) :argnums {nums})\n {' '.join(literal_text(v) for v in inputs.values())})",
        [answer[0], [answer[1][k] for k in inputs]],
    )


def derivative_program(g):
    """Jacobians, Hessians, forward mode, and derivatives of derivatives."""
    kind = g.r.choice(["jacobian", "hessian", "jvp", "vjp", "grad-grad", "grad-of-norm", "vmap-grad"])
    shape = g.r.choice([(2,), (3,), (2,)])
    scope = {"x": shape}
    inputs = {"x": np.asarray(g.values(shape))}
    x = literal_text(inputs["x"])
    depth = g.r.choice([2, 3])

    def env(v, dt):
        return {"x": v, "xp": jnp, "dt": dt}

    if kind == "jacobian":
        body = g.expr(g.r.choice([(2,), (3,), (2, 2)]), depth, scope)
        if not uses(body.text, "x"):
            raise Reject
        return f"((jacobian (fn [x] {body.text})) {x})", check_conditioning(
            jitted(lambda i, dt: jax.jacobian(lambda v: full(env(v, dt), body))(i["x"])), inputs, g.data
        )
    if kind == "jvp" or kind == "vjp":
        body = g.expr(g.r.choice([(2,), (3,), ()]), depth, scope)
        if not uses(body.text, "x"):
            raise Reject
        if kind == "jvp":
            t = np.asarray(g.values(shape))
            run = jitted(
                lambda i, dt: list(jax.jvp(lambda v: full(env(v, dt), body), (i["x"],), (jnp.asarray(t, dt),)))
            )
            return f"(jvp (fn [x] {body.text}) (list {x}) (list {literal_text(t)}))", check_conditioning(
                run, inputs, g.data
            )
        t = np.asarray(g.values(body.shape))

        def pull(i, dt):
            y, back = jax.vjp(lambda v: full(env(v, dt), body), i["x"])
            return [y, back(jnp.asarray(t, dt))[0]]

        return (
            f"(let [[y back] (vjp (fn [x] {body.text}) {x})] (list y (first (back {literal_text(t)}))))",
            check_conditioning(jitted(pull), inputs, g.data),
        )
    loss = scalar_loss(g, scope, depth)
    if not uses(loss.text, "x"):
        raise Reject

    def f(dt):
        return lambda v: full(env(v, dt), loss)

    if kind == "hessian":
        return f"((hessian (fn [x] {loss.text})) {x})", check_conditioning(
            jitted(lambda i, dt: jax.hessian(f(dt))(i["x"])), inputs, g.data
        )
    if kind == "grad-grad":
        t = np.asarray(g.values(shape))
        run = jitted(lambda i, dt: jax.grad(lambda v: jnp.sum(jax.grad(f(dt))(v) * jnp.asarray(t, dt)))(i["x"]))
        return (
            f"((grad (fn [y] (sum (* ((grad (fn [x] {loss.text})) y) {literal_text(t)})))) {x})",
            check_conditioning(run, inputs, g.data),
        )
    if kind == "grad-of-norm":
        run = jitted(lambda i, dt: list(jax.value_and_grad(lambda v: jnp.sum(jax.grad(f(dt))(v) ** 2))(i["x"])))
        return f"((value-and-grad (fn [y] (sum (** ((grad (fn [x] {loss.text})) y) 2)))) {x})", check_conditioning(
            run, inputs, g.data
        )
    rows = np.asarray(g.values((2,) + shape))
    run = jitted(lambda i, dt: jnp.stack([jax.grad(f(dt))(i["x"][k]) for k in range(2)]))
    return f"((vmap (grad (fn [x] {loss.text}))) {literal_text(rows)})", check_conditioning(run, {"x": rows}, g.data)


def concrete(x):
    """The number inside a value that is being differentiated eagerly, for Python's own branches."""
    while hasattr(x, "primal"):
        x = x.primal
    return float(x)


def loop_program(g):
    """Loops whose number of turns depends on values, with gradients; run eagerly so that Python decides."""
    kind = g.r.choice(["while", "loop", "newton", "power", "branch", "collatz"])
    inputs = {"p": np.asarray(g.values((2,))), "q": np.asarray(g.values(()))}
    params = f"{{:p {literal_text(inputs['p'])} :q {literal_text(inputs['q'])}}}"
    a = g.r.choice([1.5, 1.25, 2.0])
    b = g.r.choice([0.25, -0.5, 0.125])
    limit = g.r.choice([5, 10, 20])
    small = g.expr((2,), 1, {"acc": (2,), "p": (2,), "q": ()})
    last = g.expr((), 1, {"out": (2,), "q": ()})

    def finish(env, v):
        return full({**env, "out": v}, last)

    if kind == "while":

        def f(env):
            v, turns = env["p"], 0
            while concrete(jnp.sum(jnp.abs(v))) < limit:
                v = v * a + b * jnp.sin(full({**env, "acc": v}, small)) + 0.25
                turns += 1
                if turns > 20:
                    raise Reject
            return finish(env, v)

        text = f"(while (< (sum (abs acc)) {limit}) [acc p] (+ (* acc {a}) (* {b} (sin {small.text})) 0.25))"
    elif kind == "loop":

        def f(env):
            v, i = env["p"], 0
            while i < 6 and concrete(jnp.max(v)) < limit:
                v = v * a + jnp.tanh(full({**env, "acc": v}, small))
                i += 1
            return finish(env, v)

        text = f"(loop [i 0 acc p] (if (and (< i 6) (< (max acc) {limit})) (recur (+ i 1) (+ (* acc {a}) (tanh {small.text}))) acc))"
    elif kind == "newton":

        def f(env):
            s = env["p"] * env["p"] + 1
            v = s
            for _ in range(4):
                v = 0.5 * (v + s / v)
            return finish(env, v)

        text = "(let [s (+ (* p p) 1)] (repeat [i 4] [acc s] (* 0.5 (+ acc (/ s acc)))))"
    elif kind == "power":
        n = g.r.choice([2, 3, 5])

        def f(env):
            v = jnp.ones_like(env["p"])
            for i in range(n):
                v = v * env["p"] + i * b
            return finish(env, v)

        text = f"(reduce (fn [acc i] (+ (* acc p) (* i {b}))) (ones [2]) (range {n}))"
    elif kind == "branch":

        def f(env):
            v = env["p"]
            for i in range(4):
                v = v * 0.5 + b if concrete(jnp.sum(v)) > 0 else v * a + 0.75
            return finish(env, v)

        text = f"(repeat [i 4] [acc p] (if (> (sum acc) 0) (+ (* acc 0.5) {b}) (+ (* acc {a}) 0.75)))"
    else:

        def f(env):
            v = env["p"]
            for i in range(5):
                v = jnp.cos(v) if i % 2 == 0 else v * env["q"]
            return finish(env, v)

        text = "(repeat [i 5] [acc p] (case (mod i 2) 0 (cos acc) (* acc q)))"

    def run(i, dt):
        with_types = {k: jnp.asarray(v, dtype=dt) for k, v in i.items()}
        value, grads = jax.value_and_grad(lambda i: f({**i, "xp": jnp, "dt": dt}))(with_types)
        return [np.asarray(value), jax.tree.map(np.asarray, grads)]

    answer = check_conditioning(run, inputs, g.data)
    return f"((value-and-grad (fn [{{:keys [p q]}}]\n  (let [out {text}]\n    {last.text})))\n {params})", answer


def window_program(g):
    """Convolutions and pooling with values and gradients."""
    r = g.r
    two = r.random() < 0.5
    d = 2 if two else 1
    kind = r.choice(["conv", "conv", "conv", "max-pool", "avg-pool", "conv-transpose"])
    spatial = tuple(r.choice([3, 4, 5]) for _ in range(d))
    lax = jax.lax
    names = ("NCHW", "OIHW", "NCHW") if two else ("NCH", "OIH", "NCH")
    if kind in ("max-pool", "avg-pool"):
        size, stride = r.choice([2, 3]), r.choice([1, 2])
        x = np.asarray(g.data.permutation(math.prod(spatial)).reshape((1, 1) + spatial) / 4.0)
        y = tuple((s - size) // stride + 1 for s in spatial)
        w = np.asarray(g.values((1, 1) + y))

        def f(i, dt):
            init = -jnp.inf if kind == "max-pool" else 0.0
            op = lax.max if kind == "max-pool" else lax.add
            out = lax.reduce_window(
                i["x"], np.asarray(init, dt), op, (1, 1) + (size,) * d, (1, 1) + (stride,) * d, "VALID"
            )
            return out if kind == "max-pool" else out / size**d

        call = f"({kind} x :size {size} :stride {stride})"
        inputs = {"x": x}
    else:
        groups = r.choice([1, 1, 2]) if kind == "conv" else 1
        ci, co = r.choice([1, 2]) * groups, r.choice([1, 2]) * groups
        k = tuple(r.choice([1, 2, 3]) for _ in range(d))
        stride, dilation = r.choice([1, 1, 2]), r.choice([1, 1, 2])
        padding = r.choice([None, "same", 1, 0]) if kind == "conv" else None
        if kind == "conv-transpose":
            dilation = 1
        if (
            any(
                (kk - 1) * dilation + 1 > s + 2 * (padding if isinstance(padding, int) else 0)
                for kk, s in zip(k, spatial)
            )
            and padding != "same"
        ):
            raise Reject
        x = np.asarray(g.values((1, ci) + spatial))
        weights = np.asarray(g.values((co, ci // groups) + k if kind == "conv" else (ci, co) + k))
        pads = [(padding, padding)] * d if isinstance(padding, int) else "SAME" if padding == "same" else "VALID"

        def f(i, dt):
            if kind == "conv":
                return lax.conv_general_dilated(
                    i["x"],
                    i["w"],
                    (stride,) * d,
                    pads,
                    rhs_dilation=(dilation,) * d,
                    feature_group_count=groups,
                    dimension_numbers=names,
                )
            # A transposed convolution is the gradient of the convolution with the same kernel.
            out = tuple((s - 1) * stride + kk for s, kk in zip(spatial, k))
            zero = jnp.zeros((1, co) + out, dt)
            _, back = jax.vjp(
                lambda v: lax.conv_general_dilated(v, i["w"], (stride,) * d, "VALID", dimension_numbers=names), zero
            )
            return back(i["x"])[0]

        options = (f" :stride {stride}" if stride > 1 else "") + (f" :dilation {dilation}" if dilation > 1 else "")
        options += (f" :padding {':same' if padding == 'same' else padding}" if padding is not None else "") + (
            f" :groups {groups}" if groups > 1 else ""
        )
        call = f"({'conv%dd' % d if kind == 'conv' else 'conv-transpose'} x w{options})"
        inputs = {"x": x, "w": weights}
    if math.prod(x.shape) > 40:
        raise Reject
    params = "{" + " ".join(f":{k} {literal_text(v)}" for k, v in inputs.items()) + "}"
    fields = " ".join(inputs)
    if r.random() < 0.4:
        answer = check_conditioning(jitted(f), inputs, g.data)
        return f"(let [{' '.join(f'{k} {literal_text(v)}' for k, v in inputs.items())}]\n  {call})", answer

    def loss(i, dt):
        return list(jax.value_and_grad(lambda i: jnp.sum(jnp.sin(f(i, dt))))(i))

    answer = check_conditioning(jitted(loss), inputs, g.data)
    return f"((value-and-grad (fn [{{:keys [{fields}]}}] (sum (sin {call}))))\n {params})", answer


def loss_program(g):
    """Losses and small networks with gradients."""
    kind = g.r.choice(["cross-entropy", "mse", "mae", "smoothing", "mlp", "embedding", "dropout"])
    n, v, h = g.r.choice([1, 2, 3]), g.r.choice([2, 3, 4]), g.r.choice([2, 3])
    targets = [g.r.randrange(v) for _ in range(n)]
    t = shape_text(targets)
    idx = np.array(targets)
    if kind in ("cross-entropy", "smoothing"):
        inputs = {"x": np.asarray(g.values((n, v)))}
        e = g.r.choice([0.1, 0.3]) if kind == "smoothing" else 0.0
        text = f"(cross-entropy-loss x {t}{f' :label-smoothing {e}' if e else ''})"

        def f(i, dt):
            lp = log_softmax(jnp, i["x"])
            return -jnp.mean((1 - e) * lp[np.arange(n), idx] + e * jnp.mean(lp, axis=1))
    elif kind in ("mse", "mae"):
        inputs = {"x": np.asarray(g.values((n, v))), "y": np.asarray(g.values((n, v)))}
        text = f"({kind}-loss x y)"

        def f(i, dt):
            diff = i["x"] - i["y"]
            return jnp.mean(diff * diff if kind == "mse" else jnp.abs(diff))
    elif kind == "mlp":
        inputs = {"w": np.asarray(g.values((2, h))), "b": np.asarray(g.values((h,))), "u": np.asarray(g.values((h, v)))}
        x = np.asarray(g.values((n, 2)))
        act = g.r.choice(["gelu", "tanh", "sigmoid", "silu", "relu"])
        text = f"(cross-entropy-loss (@ ({act} (linear {literal_text(x)} w b)) u) {t})"

        def f(i, dt):
            lp = log_softmax(jnp, UNARY[act](jnp, jnp.asarray(x, dt) @ i["w"] + i["b"]) @ i["u"])
            return -jnp.mean(lp[np.arange(n), idx])
    elif kind == "embedding":
        inputs = {"e": np.asarray(g.values((v, h))), "u": np.asarray(g.values((h, 2)))}
        text = f"(mean (** (@ (embedding {t} e) u) 2))"

        def f(i, dt):
            return jnp.mean((i["e"][idx] @ i["u"]) ** 2)
    else:
        inputs = {"x": np.asarray(g.values((n, v)))}
        seed = g.r.randrange(100)
        text = f"(sum (dropout (* x x) (random-key {seed}) 0.25))"

        def f(i, dt):
            keep = jax.random.uniform(jax.random.key(seed), (n, v), dtype=jnp.float32) > 0.25
            return jnp.sum(jnp.where(keep, i["x"] ** 2 / 0.75, 0))

    answer = check_conditioning(jitted(lambda i, dt: list(jax.value_and_grad(lambda i: f(i, dt))(i))), inputs, g.data)
    params = "{" + " ".join(f":{k} {literal_text(a)}" for k, a in inputs.items()) + "}"
    return f"((value-and-grad (fn [{{:keys [{' '.join(inputs)}]}}]\n  {text}))\n {params})", answer


# Storage types and promotion: the rules are written down here a second time, on purpose.

INT_RANK = {"bool": 0, "i32": 1, "u32": 1, "i64": 2}
NP = {
    "bool": np.bool_,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
}
FLOATS = ("f32", "f64", "bf16", "f16")


def promote(a, b):
    if a == b:
        return a
    fa, fb = a in FLOATS, b in FLOATS
    if fa and fb:
        return "f64" if "f64" in (a, b) else "f32"
    if fa or fb:
        return a if fa else b
    if "bool" in (a, b):
        return b if a == "bool" else a
    return "i64"


def dtype_program(g):
    def tensor(dt):
        n = 3
        if dt == "bool":
            v = g.data.integers(0, 2, size=n).astype(bool)
            return "(cast " + literal_text(v.astype(int)) + " :bool)", v
        if dt == "u32":
            v = g.data.integers(0, 20, size=n).astype(np.uint32)
        elif dt in ("i32", "i64"):
            v = g.data.integers(-9, 10, size=n).astype(NP[dt])
        else:
            v = np.asarray(g.values(n)).astype(NP[dt])
        text = literal_text(v.astype(np.float64))
        return (text if dt == "f32" else f"{text} :{dt}" if g.r.random() < 0.5 else f"(cast {text} :{dt})"), v

    def node(depth):
        """(text, value, dtype); dtype "int" and "float" are weak scalars."""
        if depth == 0:
            k = g.r.random()
            if k < 0.12:
                v = g.r.randrange(1, 6)
                return str(v), v, "int"
            if k < 0.24:
                v = g.r.choice([0.5, 1.5, 0.25, 2.0])
                return float_text(v), v, "float"
            dt = g.r.choice(["bool", "i32", "u32", "i64", "f32", "f64", "bf16", "f16"])
            t, v = tensor(dt)
            return t, v, dt
        op = g.r.choice(
            ["+", "-", "*", "maximum", "minimum", "cast", "where", "compare", "//", "mod", "/", "neg", "slice"]
        )
        at, av, ad = node(depth - 1)
        if op == "cast" or ad in ("int", "float"):
            if ad in ("int", "float"):
                at, av = tensor("f32")
                ad = "f32"
            dt = g.r.choice(list(NP))
            if dt == "u32" and np.any(av.astype(np.float64) < 0):
                dt = "i64"
            return f"(cast {at} :{dt})", av.astype(np.float64).astype(NP[dt]) if ad != dt else av, dt
        if op == "neg":
            if ad in ("bool", "u32"):
                raise Reject
            return f"(- {at})", -av, ad
        if op == "slice":
            return f"(concat (slice {at} 1 3) (slice {at} 0 1))", np.concatenate([av[1:3], av[:1]]), ad
        bt, bv, bd = node(g.r.choice([0, depth - 1]))
        if op == "compare":
            c = g.r.choice(["<", ">", "<=", ">=", "==", "!="])
            x, y = av.astype(np.float64), np.asarray(bv).astype(np.float64)
            return (
                f"({c} {at} {bt})",
                {"<": x < y, ">": x > y, "<=": x <= y, ">=": x >= y, "==": x == y, "!=": x != y}[c],
                "bool",
            )
        if bd == "int":
            dt = "i32" if ad == "bool" else ad
        elif bd == "float":
            dt = ad if ad in FLOATS else "f32"
        else:
            dt = promote(ad, bd)
        if op == "/":
            dt = dt if dt in FLOATS else "f32"
        if dt == "bool" and op not in ("maximum", "minimum"):
            raise Reject
        x, y = av.astype(NP[dt]), np.asarray(bv).astype(NP[dt])
        if op == "where":
            c = g.data.integers(0, 2, size=3)
            return f"(where (cast {literal_text(c)} :bool) {at} {bt})", np.where(c != 0, x, y), dt
        if op in ("//", "mod", "/"):
            if np.any(y == 0) or dt in ("bf16", "f16") and op != "/":
                raise Reject
            z = x // y if op == "//" else np.mod(x, y) if op == "mod" else x / y
            return f"({op} {at} {bt})", z.astype(NP[dt]), dt
        if dt == "u32" and op == "-" and np.any(x < y):
            raise Reject
        z = {"+": np.add, "-": np.subtract, "*": np.multiply, "maximum": np.maximum, "minimum": np.minimum}[op](x, y)
        if dt in ("bf16", "f16"):
            w = {"+": np.add, "-": np.subtract, "*": np.multiply, "maximum": np.maximum, "minimum": np.minimum}[op](
                x.astype(np.float64), y.astype(np.float64)
            )
            z = w.astype(NP[dt])
        if dt in ("i32", "u32") and np.any(np.abs(z.astype(np.int64)) > 2**30):
            raise Reject
        return f"({op} {at} {bt})", z.astype(NP[dt]), dt

    text, value, dt = node(g.r.choice([1, 2, 2, 3]))
    if dt in ("int", "float"):
        raise Reject
    shown = value if dt in INT_RANK else value.astype(np.float64)
    if dt in FLOATS and not np.all(np.isfinite(shown)):
        raise Reject
    # Narrow floats print as the shortest text of their own type, so they are widened first.
    return f"(let [y {text}] (print (dtype y)) {'(cast y :f32)' if dt in ('bf16', 'f16') else 'y'})", [f":{dt}", shown]


def order_program(g):
    """Integer-valued answers: searches, sorting, logic, index arithmetic."""
    shape = g.r.choice([(4,), (5,), (2, 3), (3, 2), (3, 3)])
    a = g.data.integers(-9, 10, size=shape)
    if g.r.random() < 0.5:
        a = g.data.permutation(math.prod(shape)).reshape(shape) - 3
    axis = g.r.randrange(len(shape))
    lit = literal_text(a)
    suffix = g.r.choice(["", " :i32"])
    stable = np.argsort(a, axis=axis, kind="stable")
    kind = g.r.choice(
        [
            "argmax",
            "argmin",
            "argsort",
            "sort",
            "top_k",
            "cumsum",
            "cumprod",
            "any",
            "all",
            "nonzero",
            "argmax-all",
            "logic",
            "one-hot",
            "scatter-add",
            "mask",
            "sum-int",
            "take",
            "histogram",
            "where-rank",
            "unsorted",
        ]
    )
    if kind in ("argmax", "argmin"):
        return f"({kind} {lit}{suffix} :axis {axis})", getattr(np, kind)(a, axis=axis)
    if kind == "argmax-all":
        return f"(list (argmax {lit}{suffix}) (argmin {lit}{suffix}))", [np.argmax(a), np.argmin(a)]
    if kind == "argsort":
        return f"(argsort {lit}{suffix} :axis {axis})", stable
    if kind == "sort":
        return f"(sort {lit}{suffix} :axis {axis})", np.sort(a, axis=axis)
    if kind == "unsorted":
        return f"(let [x {lit}{suffix}] (take-along-axis x (argsort x :axis {axis}) {axis}))", np.sort(a, axis=axis)
    if kind == "top_k":
        k = g.r.choice([1, 2, 3])
        flat = a.reshape(-1)
        i = np.argsort(-flat, kind="stable")[:k]
        return f"(top_k {lit}{suffix} {k})", (flat[i], i)
    if kind in ("cumsum", "cumprod"):
        return f"({kind} {lit}{suffix} :axis {axis})", getattr(np, kind)(a, axis=axis)
    if kind in ("any", "all"):
        return f"({kind} (> {lit} {-2 if kind == 'all' else 3}) :axis {axis})", getattr(np, kind)(
            a > (-2 if kind == "all" else 3), axis=axis
        )
    if kind == "nonzero":
        if not np.any(a > 2):
            raise Reject
        return f"(nonzero (> {lit} 2))", tuple(np.nonzero(a > 2))
    if kind == "logic":
        op = g.r.choice(["and", "or", "xor"])
        f = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[op]
        return f"(let [x {lit}] (logical-not (logical-{op} (> x 0) (== (mod x 2) 0))))", ~f(a > 0, a % 2 == 0)
    if kind == "one-hot":
        b = np.abs(a) % 4
        return f"(one-hot {literal_text(b.reshape(-1)[:4])} 4)", np.eye(4)[b.reshape(-1)[:4]]
    if kind == "scatter-add":
        idx, up = g.data.integers(0, 4, size=5), g.data.integers(-5, 6, size=5)
        out = np.zeros(4)
        np.add.at(out, idx, up)
        return f"(scatter-add (zeros [4]) {literal_text(idx)} {literal_text(up)})", out
    if kind == "mask":
        if not np.any(a > 0):
            raise Reject
        return f"(let [x {lit}{suffix}] (at x (> x 0)))", a[a > 0]
    if kind == "sum-int":
        op = g.r.choice(["sum", "max", "min"])
        return f"(let [x {lit} :i32] ({op} x :axis {axis} :keepdims))", getattr(np, op)(a, axis=axis, keepdims=True)
    if kind == "take":
        idx = g.data.integers(0, shape[axis], size=3)
        return f"(take {lit}{suffix} {literal_text(idx)} :axis {axis})", np.take(a, idx, axis=axis)
    if kind == "histogram":
        b = np.abs(a.reshape(-1)) % 3
        return f"(reduce (fn [h i] (at-add h 1 i)) (zeros [3]) (int {literal_text(b)}))", np.bincount(b, minlength=3)
    return f"(let [x {lit}] (where (> x (mean x)) (* x 2) (- 0 x)))", np.where(a > a.mean(), a * 2, -a)


def random_program(g):
    seed = g.r.choice([0, 1, 7, 42, 123456789, 2**33 + 5, g.r.randrange(2**31)])
    key = jax.random.key(seed)
    shape = g.r.choice([(3,), (2, 2), (5,), (1,), (2, 3), (7,)])
    s = shape_text(shape)
    kind = g.r.choice(
        [
            "uniform",
            "normal",
            "randint",
            "split",
            "fold-in",
            "permutation",
            "bernoulli",
            "range",
            "chain",
            "categorical",
            "f64",
        ]
    )
    if kind == "uniform":
        return f"(random-uniform (random-key {seed}) {s})", np.asarray(
            jax.random.uniform(key, shape, dtype=jnp.float32)
        )
    if kind == "f64":
        return f"(random-uniform (random-key {seed}) {s} :dtype :f64)", np.asarray(
            jax.random.uniform(key, shape, dtype=jnp.float64)
        )
    if kind == "normal":
        return f"(random-normal (random-key {seed}) '{s})", np.asarray(jax.random.normal(key, shape, dtype=jnp.float32))
    if kind == "randint":
        lo, hi = g.r.choice([(0, 10), (-5, 5), (0, 2), (100, 1000)])
        return f"(random-randint (random-key {seed}) {s} {lo} {hi})", np.asarray(
            jax.random.randint(key, shape, lo, hi, dtype=jnp.int32)
        )
    if kind == "split":
        n = g.r.choice([2, 3, 4])
        return f"(random-split (random-key {seed}) {n})", [
            np.asarray(jax.random.key_data(k)) for k in jax.random.split(key, n)
        ]
    if kind == "fold-in":
        d = g.r.randrange(1000)
        return f"(random-normal (random-fold-in (random-key {seed}) {d}) {s})", np.asarray(
            jax.random.normal(jax.random.fold_in(key, d), shape, dtype=jnp.float32)
        )
    if kind == "permutation":
        n = g.r.choice([3, 5, 8])
        return f"(random-permutation (random-key {seed}) {n})", np.asarray(jax.random.permutation(key, n))
    if kind == "bernoulli":
        p = g.r.choice([0.25, 0.5, 0.75])
        return f"(random-bernoulli (random-key {seed}) {p} {s})", np.asarray(
            jax.random.bernoulli(key, np.float32(p), shape)
        )
    if kind == "range":
        u = np.asarray(jax.random.uniform(key, shape, dtype=jnp.float32))
        return f"(random-range (random-key {seed}) {s} -2 3)", -2 + 5 * u.astype(np.float64)
    if kind == "categorical":
        logits = np.asarray(g.values((4,)))
        return (
            f"(random-categorical (random-key {seed}) {literal_text(logits)} :shape {s})",
            np.asarray(jax.random.categorical(key, jnp.asarray(logits, jnp.float32), shape=shape)),
        )
    a, b = jax.random.split(key, 2)
    w = np.asarray(jax.random.normal(b, shape, dtype=jnp.float32), dtype=np.float64)
    u = np.asarray(jax.random.uniform(a, shape, dtype=jnp.float32), dtype=np.float64)
    return (
        f"(let [[a b] (random-split (random-key {seed}))] (sum (* (random-uniform a {s}) (random-normal b {s}))))",
        np.sum(u * w),
    )


FAMILIES = [
    ("values", value_program, 34),
    ("gradients", gradient_program, 26),
    ("derivatives", derivative_program, 9),
    ("loops", loop_program, 6),
    ("windows", window_program, 5),
    ("losses", loss_program, 4),
    ("dtypes", dtype_program, 9),
    ("order", order_program, 4),
    ("random", random_program, 3),
]


def make(family, maker, index, seed):
    for attempt in range(200):
        token = zlib.crc32(f"{seed}/{family}/{index}/{attempt}".encode())
        g = Gen(random.Random(token), np.random.default_rng(token))
        try:
            text, answer = maker(g)
            if len(text) > 700:
                continue
            if isinstance(answer, list) and answer and isinstance(answer[0], str):
                shown = "\n".join(show(a) for a in answer)
            else:
                shown = show(answer)
            if len(shown) > 600:
                continue
            return f"--- {family} {index}\n{text}\n" + "".join(f"~> {line}\n" for line in shown.split("\n"))
        except (Reject, ZeroDivisionError, OverflowError):
            continue
    raise RuntimeError(f"no program for {family} {index}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--count", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    p.add_argument("--family", default="")
    a = p.parse_args()
    total = sum(w for _, _, w in FAMILIES)
    for name, maker, weight in FAMILIES:
        if a.family and a.family != name:
            continue
        count = round(a.count * weight / total)
        with open(os.path.join(a.out, f"{name}.cases"), "w") as f:
            f.write(
                f";;; Made by make_programs.py --count {a.count} --seed {a.seed}; do not edit.\n;;; tolerance {REL} {ABS}\n"
            )
            for i in range(count):
                f.write(make(name, maker, i, a.seed))
                if i % 50 == 49:
                    jax.clear_caches()
                    print(f"{name} {i + 1}", flush=True)


if __name__ == "__main__":
    main()
