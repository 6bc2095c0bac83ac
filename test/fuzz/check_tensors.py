"""Random programs of tensors whose result is known: every form is made together with a NumPy function in float64 that
says what it means, and a derivative means the difference quotient of that function. So shapes, axes, broadcasting, the
loops and transforms around them and the gradients of all that are held against something that shares no code with the
program.

Usage: python check_tensors.py PATH-OF-SHEAF [FIRST-SEED [LAST-SEED [FLAG …]]]    e.g. … build/sheaf 0 1000 --jit=always
Prints the programs whose output differs; the exit status is 1 if there are any.
"""

import random

import numpy as np

from meaning import PassedOver, main

NAMES = "a b c d p q u w".split()  # few, so that they shadow each other
STEP = 1e-4  # of a difference quotient; two nested ones still leave seven digits
DEEPEST_GRADIENT = 2
LARGE_SIZES = [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 40]
MOST_ELEMENTS = 20000
MOST_QUOTIENTS = 1500


def clear_of_zero(x, near=2e-3):
    """Closer than this to a threshold a value says nothing."""
    if np.any(np.abs(x) < near):
        raise PassedOver
    return x


def without_ties(x, axis):
    clear_of_zero(np.diff(np.sort(x, axis), axis=axis), 1e-6)
    return x


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def literal(v):
    if np.ndim(v) == 0:
        return f"{float(v):.3f}"
    return "[" + " ".join(map(literal, v)) + "]"


def dims(shape):
    return "[" + " ".join(map(str, shape)) + "]"


class Programs:
    """gen(shape, env, depth) gives (text, meaning); env maps visible names to shapes, a meaning maps {name: array} to
    an array."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.large = (
            seed % 3 == 2
        )  # kernels work in blocks: sizes around their multiples, and slopes in one direction only
        self.functions = []  # (name, shapes of parameters, shape of result, meaning)
        self.gradients = self.quotients = 0
        self.blur = 0.0  # of constants, to see which results hang on the last digits of an f32
        self.focus = None  # the variable of the current gradient
        self.forms = [getattr(self, n) for n in sorted(dir(self)) if n.startswith("form_")]
        self.ops = [getattr(self, n) for n in sorted(dir(self)) if n.startswith("op_")]

    def pick(self, xs):
        return self.random.choice(xs)

    def value(self, shape):
        return np.array(
            [self.pick([-1, 1]) * self.random.randint(50, 1500) / 1000 for _ in range(int(np.prod(shape)))]
        ).reshape(shape)

    def shape(self, most=3):
        sizes = LARGE_SIZES if self.large else [1, 2, 3]
        return tuple(self.pick(sizes) for _ in range(self.random.randint(0, most)))

    def size(self):
        return self.pick(LARGE_SIZES) if self.large else self.random.randint(1, 3)

    def kink(self, x):
        """Among thousands of values some are always rather near; so there only as near as slopes reach."""
        return clear_of_zero(x, 2 * STEP if self.large else 2e-3)

    def axis(self, shape):
        """An axis and a way to write it."""
        k = self.random.randrange(len(shape))
        return k, self.pick([k, k - len(shape)])

    def gen(self, shape, env, depth):
        self.budget -= 1
        known = sorted(n for n, s in env.items() if s == shape)
        stop = depth <= 0 or self.budget < 0
        if known and (stop or self.random.random() < 0.35):
            n = self.pick(known)
            return n, lambda e: e[n]
        if stop:
            return self.filled(shape, env) if env and self.random.random() < 0.7 else self.constant(shape)
        for _ in range(20):
            made = self.pick(self.ops if self.random.random() < 0.65 else self.forms)(shape, env, depth - 1)
            if made:
                return made
        return self.constant(shape)

    def slope(self, f, x, towards):
        self.quotients += 1
        if self.quotients > MOST_QUOTIENTS:
            raise PassedOver
        f(x)  # a kink at x itself shows nowhere else
        return (f(x + STEP * towards) - f(x - STEP * towards)) / (2 * STEP)

    def gradient(self, f, x):
        """The slopes of f, a function to a number, in every element of x."""
        g = np.zeros(np.shape(x))
        for i in np.ndindex(*g.shape):
            towards = np.zeros(g.shape)
            towards[i] = 1
            g[i] = self.slope(f, x, towards)
        return g

    def constant(self, shape):
        count = int(np.prod(shape))
        if count > MOST_ELEMENTS:
            raise PassedOver
        if count > 30:
            k = round(self.random.randint(30, 100) / count, 6)  # arguments up to 100: f32 has them to five digits
            return (
                f"(sin (* {k} (reshape (arange {count}) {dims(shape)})))",
                lambda e: np.sin(np.float64(np.float32(k)) * np.arange(count).reshape(shape)) + self.blur,
            )
        v = self.value(shape)
        if len(shape) and self.random.random() < 0.15:
            n = int(np.prod(shape))
            return f"(- (reshape (arange {n}) {dims(shape)}) 0.5)", lambda e: np.arange(n).reshape(shape) - 0.5
        return literal(v), lambda e: v + self.blur

    def filled(self, shape, env):
        """Something of the shape that hangs on a visible name."""
        n, (text, meaning) = self.pick(sorted(env)), self.constant(shape)
        if self.focus in env and self.random.random() < 0.6:
            n = self.focus
        return f"(* (mean {n}) {text})", lambda e: np.mean(e[n]) * meaning(e)

    def condition(self, env, depth):
        s = self.shape(2)
        a, fa = self.gen(s, env, depth)
        k = self.random.randint(-900, 900) / 1000
        return f"(> (sum {a}) {k})", lambda e: clear_of_zero(np.sum(fa(e)) - k) > 0

    # Functions of the language

    def op_unary(self, shape, env, depth):
        x, f = self.gen(shape, env, depth)
        text, of = self.pick(
            [
                ("(tanh {})", np.tanh),
                ("(sin {})", np.sin),
                ("(cos {})", np.cos),
                ("(- {})", np.negative),
                ("(exp (tanh {}))", lambda v: np.exp(np.tanh(v))),
                ("(abs {})", lambda v: np.abs(self.kink(v))),
                ("(relu {})", lambda v: np.maximum(self.kink(v), 0)),
                ("(sigmoid {})", lambda v: 1 / (1 + np.exp(-v))),
                ("(silu {})", lambda v: v / (1 + np.exp(-v))),
                ("(** {} 2)", np.square),
                ("(sqrt (+ 1.5 (** {} 2)))", lambda v: np.sqrt(1.5 + v * v)),
                ("(log (+ 1.5 (** {} 2)))", lambda v: np.log(1.5 + v * v)),
                ("(** (abs {}) 1.5)", lambda v: np.abs(self.kink(v)) ** 1.5),
                ("(clamp {} -0.7 0.6)", lambda v: np.clip(self.kink(self.kink(v + 0.7) - 1.3) + 0.6, -0.7, 0.6)),
                ("(leaky-relu {} 0.2)", lambda v: np.where(self.kink(v) > 0, v, 0.2 * v)),
                ("(stop-gradient {})", None),
                ("(float {})", lambda v: v),
            ]
        )
        if of is None:
            if self.gradients:
                return None
            of = lambda v: v
        return text.format(x), lambda e: of(f(e))

    def op_along(self, shape, env, depth):
        if not shape:
            return None
        (x, f), (k, ax) = self.gen(shape, env, depth), self.axis(shape)
        m = self.random.randint(-2, 2)
        return self.pick(
            [
                (f"(softmax {x} :axis {ax})", lambda e: softmax(f(e), k)),
                (f"(softmax {x})", lambda e: softmax(f(e))),
                (f"(log-softmax {x})", lambda e: np.log(softmax(f(e)))),
                (f"(cumsum {x} :axis {ax})", lambda e: np.cumsum(f(e), k)),
                (f"(flip {x} :axis {ax})", lambda e: np.flip(f(e), k)),
                (f"(roll {x} {m})", lambda e: np.roll(f(e), m)),
                (f"(roll {x} {m} :axis {ax})", lambda e: np.roll(f(e), m, k)),
                (f"(sort {x} :axis {ax})", lambda e: np.sort(without_ties(f(e), k), k)),
                (f"(- {x} (mean {x} :axis {ax} :keepdims))", lambda e: f(e) - f(e).mean(k, keepdims=True)),
                (f"(cumprod {x} :axis {ax})", lambda e: np.cumprod(f(e), k)),
                (
                    f"(layer-norm {x} {{:gamma 1.5 :beta 0.5}} {ax})",
                    lambda e: (
                        (f(e) - f(e).mean(k, keepdims=True)) / np.sqrt(f(e).var(k, keepdims=True) + 1e-5) * 1.5 + 0.5
                    ),
                )
                if shape[k] > 1
                else (x, f),
                (
                    f"(rms-norm {x} {{:gamma 1.5 :beta 0.5}} {ax})",
                    lambda e: f(e) / np.sqrt((f(e) ** 2).mean(k, keepdims=True) + 1e-6) * 1.5 + 0.5,
                ),
            ]
        )

    def op_binary(self, shape, env, depth):
        smaller = (
            tuple(1 if self.random.random() < 0.3 else n for n in shape)[self.random.randint(0, len(shape)) :]
            if self.random.random() < 0.6
            else shape
        )
        left = tuple(
            1 if self.random.random() < 0.2 and len(smaller) > i and smaller[-1 - i] == n else n
            for i, n in enumerate(reversed(shape))
        )[::-1]
        sides = [self.gen(left, env, depth), self.gen(smaller, env, depth)]
        self.random.shuffle(sides)
        (x, f), (y, g) = sides
        apart = lambda a, b: (clear_of_zero(a - b, 1e-5 if self.large else 2e-3), a, b)[1:]
        return self.pick(
            [
                (f"(+ {x} {y})", lambda e: f(e) + g(e)),
                (f"(- {x} {y})", lambda e: f(e) - g(e)),
                (f"(* {x} {y})", lambda e: f(e) * g(e)),
                (f"(/ {x} (+ 1.5 (abs {y})))", lambda e: f(e) / (1.5 + np.abs(self.kink(g(e))))),
                (f"(maximum {x} {y})", lambda e: np.maximum(*apart(f(e), g(e)))),
                (f"(minimum {x} {y})", lambda e: np.minimum(*apart(f(e), g(e)))),
                (
                    f"(where (> {x} {y}) {x} (* 0.5 {y}))",
                    lambda e: np.where(np.greater(*apart(f(e), g(e))), f(e), 0.5 * g(e)),
                ),
                (f"(+ {x} {y} {x})", lambda e: f(e) + g(e) + f(e)),
                (f"(* {x} {y} 0.5)", lambda e: f(e) * g(e) * 0.5),
                (f"(** (+ 1.2 (abs {x})) (tanh {y}))", lambda e: (1.2 + np.abs(self.kink(f(e)))) ** np.tanh(g(e))),
            ]
        )

    def op_move(self, shape, env, depth):
        n = len(shape)
        if not n:
            return None
        if self.random.random() < 0.4:
            perm = self.random.sample(range(n), n)
            source = [0] * n
            for i, p in enumerate(perm):
                source[p] = shape[i]
            x, f = self.gen(tuple(source), env, depth)
            if n >= 3:
                return f"(tr {x} '{dims(perm)})", lambda e: np.transpose(f(e), perm)
            return (f"(tr {x})", lambda e: np.transpose(f(e))) if perm != list(range(n)) or n == 1 else (x, f)
        if n >= 2 and self.random.random() < 0.5:
            (i, a), (j, b) = self.axis(shape), self.axis(shape)
            source = list(shape)
            source[i], source[j] = source[j], source[i]
            x, f = self.gen(tuple(source), env, depth)
            return f"(swapaxes {x} {a} {b})", lambda e: np.swapaxes(f(e), i, j)
        total = int(np.prod(shape))
        source = self.pick([(total,), (total, 1), (1, total), tuple(reversed(shape))])
        x, f = self.gen(source, env, depth)
        target = list(shape)
        if self.random.random() < 0.5:
            target[self.random.randrange(n)] = -1
        return f"(reshape {x} {dims(target)})", lambda e: np.reshape(f(e), shape)

    def op_take(self, shape, env, depth):
        """From more to less: rows, elements, ranges, by index tensors."""
        n = self.size()
        if not shape or self.random.random() < 0.3:
            x, f = self.gen((n, *shape), env, depth)
            i = self.random.randrange(n)
            return self.pick(
                [
                    (f"(get {x} {i})", lambda e: f(e)[i]),
                    (f"(nth {x} {i - n})", lambda e: f(e)[i]),
                    (f"(first {x})", lambda e: f(e)[0]),
                    (f"(last {x})", lambda e: f(e)[-1]),
                    (f"(at {x} {i - n})", lambda e: f(e)[i]),
                    (f"(at {x} {i} ...)", lambda e: f(e)[i]),
                    (
                        f"(let [rows {x}] (reduce (fn [s r] (+ s (* 0.5 r))) (get rows 0) rows))",
                        lambda e: f(e)[0] + 0.5 * f(e).sum(0),
                    ),
                ]
            )
        k, ax = self.axis(shape)
        if self.random.random() < 0.5:
            lo, hi = self.random.randint(0, 2), self.random.randint(0, 2)
            source = shape[:k] + (shape[k] + lo + hi,) + shape[k + 1 :]
            x, f = self.gen(source, env, depth)
            cut = (slice(None),) * k + (slice(lo, lo + shape[k]),)
            colons = " ".join([":"] * k + [f"(span {lo} {lo + shape[k]})"])
            return self.pick(
                [
                    (f"(slice {x} {lo} {lo + shape[k]} :axis {ax})", lambda e: f(e)[cut]),
                    (f"(at {x} {colons})", lambda e: f(e)[cut]),
                ]
            )
        rows = self.size()
        picks = [self.random.randrange(rows) for _ in range(shape[0])]
        x, f = self.gen((rows, *shape[1:]), env, depth)
        return f"(get {x} {dims(picks)})", lambda e: f(e)[picks]

    def index(self, shape):
        """An index list of `at` for a tensor of the shape: its text, and what NumPy takes."""
        texts, parts, tensors, dots = [], [], None, False
        axes = list(shape)
        while axes and self.random.random() < 0.9:
            n, how = axes[0], self.random.randrange(7)
            if how == 0:
                parts.append(self.random.randint(-n, n - 1))
                texts.append(str(parts[-1]))
            elif how == 1:
                lo, hi, step = self.random.randint(-n - 1, n), self.random.randint(0, n + 1), self.pick([1, 1, 2, -1])
                parts.append(slice(lo, hi, step))
                texts.append(f"(span {lo} {hi} {step})")
            elif how == 2:
                parts.append(slice(None))
                texts.append(":")
            elif how == 3:
                parts.append(None)
                texts.append("nil")
                continue
            elif how == 4 and not dots:
                dots = True
                parts.append(Ellipsis)
                texts.append("...")
                axes = axes[self.random.randint(0, len(axes)) :]
                continue
            else:
                tensors = tensors or tuple(self.random.randint(1, 3) for _ in range(self.random.randint(1, 2)))
                parts.append(
                    np.array([self.random.randint(-n, n - 1) for _ in range(int(np.prod(tensors)))]).reshape(tensors)
                )
                texts.append(str(parts[-1].tolist()).replace(",", ""))
            axes = axes[1:]
        if dots:  # indices after them count from the last axis, so only indices that fit every axis would do
            smallest = min(shape)
            for p in parts:
                if (
                    isinstance(p, int)
                    and not -smallest <= p < smallest
                    or isinstance(p, np.ndarray)
                    and not (np.all(p >= -smallest) and np.all(p < smallest))
                ):
                    return "...", (Ellipsis,)
        return " ".join(texts), tuple(parts)

    def op_index(self, shape, env, depth):
        source = tuple(self.random.randint(1, 4) for _ in range(self.random.randint(1, 4)))
        text, parts = self.index(source)
        taken = np.zeros(source)[parts].shape
        if 0 in taken:
            return None
        x, f = self.gen(source, env, depth)
        (w, fw), (v, fv), (u, fu), (c, fc) = (
            self.constant(taken),
            self.gen(taken, env, depth),
            self.constant(source),
            self.constant(shape),
        )

        def added(e):
            y = np.array(f(e))
            np.add.at(y, parts, fv(e))
            return fc(e) * np.sum(fu(e) * y)

        return self.pick(
            [
                (f"(* {c} (sum (* {w} (at {x} {text}))))", lambda e: fc(e) * np.sum(fw(e) * f(e)[parts])),
                (f"(* {c} (sum (* {u} (at-add {x} {v} {text}))))", added),
            ]
        )

    def op_put(self, shape, env, depth):
        """From less to more."""
        if not shape:
            return None
        k, ax = self.axis(shape)
        how = self.random.randrange(7)
        if how == 0 and shape[k] > 1:
            m = self.random.randint(1, shape[k] - 1)
            (x, f), (y, g) = (
                self.gen(shape[:k] + (m,) + shape[k + 1 :], env, depth),
                self.gen(shape[:k] + (shape[k] - m,) + shape[k + 1 :], env, depth),
            )
            return f"(concat {x} {y} :axis {ax})", lambda e: np.concatenate([f(e), g(e)], k)
        if how == 1 and shape[k] == 2:
            (x, f), (y, g) = (self.gen(shape[:k] + shape[k + 1 :], env, depth) for _ in range(2))
            return f"(stack (list {x} {y}) :axis {ax})", lambda e: np.stack([f(e), g(e)], k)
        if how == 2:
            i = self.random.randrange(shape[0])
            (x, f), (y, g) = self.gen(shape, env, depth), self.gen(shape[1:], env, depth)

            def put(e):
                v = np.array(f(e))
                v[i] = g(e)
                return v

            def add(e):
                v = np.array(f(e))
                v[i] += g(e)
                return v

            return self.pick(
                [
                    (f"(index-update {x} {i} {y})", put),
                    (f"(at-set {x} {y} {i})", put),
                    (f"(at-add {x} {y} {i - shape[0]})", add),
                ]
            )
        if how == 3:
            small = tuple(self.pick([1, n]) for n in shape)
            x, f = self.gen(small, env, depth)
            return f"(broadcast-to {x} {dims(shape)})", lambda e: np.broadcast_to(f(e), shape)
        if how == 4 and shape[k] == 1:
            x, f = self.gen(shape[:k] + shape[k + 1 :], env, depth)
            return f"(expand-dims {x} {ax})", lambda e: np.expand_dims(f(e), k)
        if how == 5 and shape[k] > 1:
            x, f = self.gen(shape[:k] + (shape[k] - 1,) + shape[k + 1 :], env, depth)
            pads = [(0, 0)] * len(shape)
            pads[k] = self.pick([(0, 1), (1, 0)])
            return f"(pad {x} '[{' '.join(f'[{a} {b}]' for a, b in pads)}])", lambda e: np.pad(f(e), pads)
        if how == 6:
            x, f = self.gen((1, *shape), env, depth)
            return f"(squeeze {x} 0)", lambda e: f(e)[0]
        return None

    def op_reduce(self, shape, env, depth):
        keep = bool(shape) and self.random.random() < 0.4
        k = self.random.randint(0, len(shape) - (1 if keep else 0))
        if keep and shape[k] != 1:
            keep = False
        n = self.size()
        source = shape[:k] + (n,) + shape[k + 1 if keep else k :]
        x, f = self.gen(source, env, depth)
        ax = self.pick([k, k - len(source)])
        name, of = self.pick(
            [
                ("sum", np.sum),
                ("mean", np.mean),
                ("max", lambda v, axis, keepdims: np.max(without_ties(v, axis), axis=axis, keepdims=keepdims)),
                ("min", lambda v, axis, keepdims: np.min(without_ties(v, axis), axis=axis, keepdims=keepdims)),
                ("var", np.var),
                ("product", np.prod),
                ("logsumexp", lambda v, axis, keepdims: np.log(np.sum(np.exp(v), axis=axis, keepdims=keepdims))),
            ]
        )
        if name == "product" and keep:  # ignores it
            return None
        if not shape and name != "logsumexp" and self.random.random() < 0.5:
            x, f = self.gen(self.shape(), env, depth)
            return f"({name} {x})", lambda e: of(np.ravel(f(e)), axis=0, keepdims=False)
        return f"({name} {x} :axis {ax}{' :keepdims' if keep else ''})", lambda e: of(f(e), axis=k, keepdims=keep)

    def op_contract(self, shape, env, depth):
        n = self.size()
        if len(shape) == 0:
            (x, f), (y, g) = (self.gen((n,), env, depth) for _ in range(2))
            return self.pick(
                [(f"(@ {x} {y})", lambda e: f(e) @ g(e)), (f'(einsum "i,i->" {x} {y})', lambda e: f(e) @ g(e))]
            )
        if len(shape) == 1:
            (x, f), (y, g) = self.gen((shape[0], n), env, depth), self.gen((n,), env, depth)
            return self.pick(
                [
                    (f"(@ {x} {y})", lambda e: f(e) @ g(e)),
                    (f"(@ {y} (tr {x}))", lambda e: f(e) @ g(e)),
                    (f'(einsum "ij,j->i" {x} {y})', lambda e: f(e) @ g(e)),
                    (f'(einsum "ij,j->i" (* {x} 2) {y})', lambda e: 2 * f(e) @ g(e)),
                ]
            )
        if len(shape) == 2:
            (x, f), (y, g) = self.gen((shape[0], n), env, depth), self.gen((n, shape[1]), env, depth)
            return self.pick(
                [
                    (f"(@ {x} {y})", lambda e: f(e) @ g(e)),
                    (f'(einsum "ab,bc->ac" {x} {y})', lambda e: f(e) @ g(e)),
                    (f"(linear {x} {y} 0.5)", lambda e: f(e) @ g(e) + 0.5),
                    (f"(tr (@ (tr {y}) (tr {x})))", lambda e: f(e) @ g(e)),
                    (f'(einsum "ab,cd->ad" {x} {y})', lambda e: np.outer(f(e).sum(1), g(e).sum(0))),
                ]
            )
        if len(shape) > 3:
            return None
        batched = self.random.random() < 0.5
        (x, f), (y, g) = (
            self.gen((shape[0], shape[1], n), env, depth),
            self.gen((shape[0], n, shape[2]) if batched else (n, shape[2]), env, depth),
        )
        subscript = "abc,acd->abd" if batched else "abc,cd->abd"
        return self.pick(
            [(f"(@ {x} {y})", lambda e: f(e) @ g(e)), (f'(einsum "{subscript}" {x} {y})', lambda e: f(e) @ g(e))]
        )

    # Forms

    def form_let(self, shape, env, depth):
        (m, n), (s, t) = self.random.sample(NAMES, 2), (self.shape(), self.shape())
        x, f = self.gen(s, env, depth)
        y, g = self.gen(t, {**env, m: s}, depth)
        body, meaning = self.gen(shape, {**env, m: s, n: t}, depth)

        def run(e):
            e = {**e, m: f(e)}
            return meaning({**e, n: g(e)})

        return self.pick(
            [
                f"(let [{m} {x} {n} {y}] {body})",
                f"((fn [{m}] (let [{n} {y}] {body})) {x})",
                f"(let [{m} {x} {{:keys [{n}]}} {{:{n} {y} :other 1}}] {body})",
                f"(let [[{m} _] (list {x} 1)] (as-> {y} {n} {body}))",
                f"(let [{m} {x} fields {{:v {{:{n}_ {y}}}}}] (with-params [fields :v] (let [{n} {n}_] {body})))",
            ]
        ), run

    def form_if(self, shape, env, depth):
        (c, fc), (x, f), (y, g) = self.condition(env, depth), self.gen(shape, env, depth), self.gen(shape, env, depth)
        return self.pick(
            [f"(if {c} {x} {y})", f"(cond {c} {x} :else {y})", f"(case {c} true {x} {y})"]
        ), lambda e: f(e) if fc(e) else g(e)

    def form_repeat(self, shape, env, depth):
        n, turns, s = self.pick(NAMES), self.random.randint(0, 3), shape
        init, finit = self.gen(s, env, depth)
        body, fbody = self.gen(s, {**env, n: s, "i": ()}, depth)

        def run(e):
            v = finit(e)
            for i in range(turns):
                v = np.tanh(fbody({**e, n: v, "i": np.float64(i)}))
            return v

        return self.pick(
            [
                f"(repeat [i {turns}] [{n} {init}] (tanh {body}))",
                f"(loop [{n} {init} i 0] (if (>= i {turns}) {n} (recur (tanh {body}) (+ i 1))))",
                f"(reduce (fn [{n} i] (tanh {body})) {init} (range {turns}))",
                f"(first (scan (fn [{n} i] (list (tanh {body}) i)) {init} (range {turns})))",
                f"(get (while (< (get st :i) {turns}) [st {{:i 0 :v {init}}}] (let [i (get st :i) {n} (get st :v)] {{:i (+ i 1) :v (tanh {body})}})) :v)",
                f"((fn [i {n}] (if (>= i {turns}) {n} (recur (+ i 1) (tanh {body})))) 0 {init})",
            ]
        ), run

    def form_rows(self, shape, env, depth):
        """A function of a row for all rows."""
        if not shape:
            return None
        n, s = self.pick(NAMES), self.shape(2)
        x, f = self.gen((shape[0], *s), env, depth)
        body, fbody = self.gen(shape[1:], {**env, n: s}, depth)
        run = lambda e: np.stack([fbody({**e, n: r}) for r in f(e)])
        ways = [
            f"((vmap (fn [{n}] {body})) {x})",
            f"(stack (map (fn [{n}] {body}) {x}))",
            f"(second (scan (fn [turn {n}] (list (+ turn 1) {body})) 0 {x} :stack))",
            f"(stack (second (scan (fn [turn {n}] (list (+ turn 1) {body})) 0 {x})))",
            f"(stack (for [{n} {x}] {body}))",
        ]
        return self.pick(ways[:1] * 3 + ways), run

    def form_vmap_two(self, shape, env, depth):
        if not shape:
            return None
        (m, n), s, t = self.random.sample(NAMES, 2), self.shape(2), self.shape(2)
        k, j = self.random.randint(0, len(s)), self.random.randint(0, len(t))
        x, f = self.gen(s[:k] + (shape[0],) + s[k:], env, depth)
        mapped = self.random.random() < 0.5
        y, g = self.gen(t[:j] + (shape[0],) + t[j:] if mapped else t, env, depth)
        body, fbody = self.gen(shape[1:], {**env, m: s, n: t}, depth)

        def run(e):
            xs, ys = f(e), g(e)
            return np.stack(
                [fbody({**e, m: np.take(xs, i, k), n: np.take(ys, i, j) if mapped else ys}) for i in range(shape[0])]
            )

        return f"((vmap (fn [{m} {n}] {body}) '[{k} {j if mapped else 'nil'}]) {x} {y})", run

    def form_gradient(self, shape, env, depth):
        if self.gradients >= DEEPEST_GRADIENT:
            return None
        n = self.pick(NAMES)
        x, f = self.gen(shape, env, depth)
        inner = self.pick([shape, (), self.shape(2)])
        before, self.focus = self.focus, n
        self.gradients += 1
        body, fbody = self.gen(inner, {**env, n: shape}, depth + 1)
        self.gradients -= 1
        self.focus = before
        loss = f"(sum (sin {body}))"
        if self.large:
            (v, fv), (c, fc) = self.constant(shape), self.constant(shape)

            def along(e):
                return fc(e) * self.slope(lambda w: np.sum(np.sin(fbody({**e, n: w}))), f(e), fv(e)) / 10

            return (
                f"(let [there {v} here {x}] (* {c} 0.1 (sum (* there {self.pick([f'((grad (fn [{n}] {loss})) here)', f'(second ((value-and-grad (fn [{n}] {loss})) here))'])}))))",
                along,
            )
        run = lambda e: self.gradient(lambda v: np.sum(np.sin(fbody({**e, n: v}))), f(e))
        return self.pick(
            [
                f"((grad (fn [{n}] {loss})) {x})",
                f"(second ((value-and-grad (fn [{n}] {loss})) {x}))",
                f"(get-in ((grad (fn [tree] (let [{n} (get-in tree [:l 1])] {loss}))) {{:k 1.0 :l (list 2.0 {x})}}) [:l 1])",
                f"(let [[_ {{:keys [field]}}] ((value-and-grad (fn [tree] (with-params [tree] (let [{n} (+ field 0)] {loss})))) {{:field {x} :other [1 2]}})] field)",
                f"((grad (fn [z {n}] {loss}) :argnums 1) 1.0 {x})",
                f"((grad (checkpoint (fn [{n}] {loss}))) {x})",
            ]
        ), run

    def form_tree(self, shape, env, depth):
        """Trees of tensors: mapped, folded, stepped along a gradient, kept in atoms and closures."""
        s, n = self.shape(2), self.pick(NAMES)
        (x, f), (y, g), (z, h) = self.gen(shape, env, depth), self.gen(shape, env, depth), self.gen(s, env, depth)
        body, fbody = self.gen(shape, {**env, n: shape}, depth)
        tree, inside = f"{{:l (list {x} {{:z {z}}}) :y {y}}}", lambda v: lambda e: fbody({**e, n: v(e)})
        other = f"{{:l (list {y} {{:z {z}}}) :y {x}}}"
        adam = lambda e: f(e) - 0.1 * g(e) / (np.abs(self.kink(g(e))) + 1e-3)
        return self.pick(
            [
                (f"(get-in (tree-map (fn [t] (* 2 t)) {tree}) [:l 0])", lambda e: 2 * f(e)),
                (f"(get (tree-map (fn [t s] (- t (* 0.5 s))) {tree} {other}) :y)", lambda e: g(e) - 0.5 * f(e)),
                (
                    f"(* (tree-reduce (fn [s t] (+ s (tanh (sum t)))) {tree} 0.0) {x})",
                    lambda e: sum(np.tanh(np.sum(v(e))) for v in (f, g, h)) * f(e),
                ),
                (f"(get-in (sgd-step {tree} {other} 0.1) [:l 0])", lambda e: f(e) - 0.1 * g(e)),
                (f"(get (first (adam-step {{:w {x}}} {{:w {y}}} {{:w 0}} {{:w 0}} 0 0.1 0.9 0.99 1e-3)) :w)", adam),
                (
                    f"(let [[p_ b_] (sgd-momentum-step {tree} {other} {other} 0.9 0.1)] (+ (get p_ :y) (get b_ :y)))",
                    lambda e: g(e) - 0.19 * f(e) + 1.9 * f(e),
                ),
                (
                    f"(first (get (clip-by-global-norm {{:a (list {x}) :b {z}}} 0.5) :a))",
                    lambda e: (
                        f(e)
                        * min(1.0, 0.5 / (self.kink(np.sqrt(np.sum(f(e) ** 2) + np.sum(h(e) ** 2)) - 0.5) + 0.5 + 1e-8))
                    ),
                ),
                (f"(let [held (atom {x})] (swap! held (fn [{n}] {body})) (deref held))", inside(f)),
                (f"(((fn [kept_] (fn [{n}] (* kept_ {body}))) {y}) {x})", lambda e: g(e) * inside(f)(e)),
                (
                    f"(let [[s_ {n}] (reduce (fn [[s_ t_] v_] (list (+ s_ v_) (tanh (+ t_ (mean v_))))) (list {x} {y}) (list {x} {y}))] {body})",
                    inside(lambda e: np.tanh(np.tanh(g(e) + np.mean(f(e))) + np.mean(g(e)))),
                ),
                (
                    f"(get (first (scan (fn [c_ v_] (list {{:t (tanh (+ (get c_ :t) (get v_ :r)))}} 1)) {{:t {x}}} {{:r (stack (list {y} {x})) :k 3}})) :t)",
                    lambda e: np.tanh(np.tanh(f(e) + g(e)) + f(e)),
                ),
                (
                    f"(apply + (map (fn [t_ {n}] (* t_ {body})) (list {x} {y}) (list {y} {x})))",
                    lambda e: f(e) * inside(g)(e) + g(e) * inside(f)(e),
                ),
                (f'(try (do (when (> (sum (* {z} 0)) 1) (error "no")) {x}) (catch err {y}))', f),
                (
                    f"(let [rec_ (fn [k_ {n}] (if (= k_ 0) {n} (rec_ (- k_ 1) (tanh {body}))))] (rec_ 2 {x}))",
                    lambda e: (lambda once: once(once(f(e))))(lambda v: np.tanh(fbody({**e, n: v}))),
                ),
            ]
        )

    def form_layers(self, shape, env, depth):
        """A list of layers, folded over the rows of a batch, and the gradient by one of its parts."""
        if len(shape) != 2:
            return None
        widths = [self.size() for _ in range(self.random.randint(1, 2))] + [shape[1]]
        layers, fan_in = [], widths[0]
        x, f = self.gen((shape[0], fan_in), env, depth)
        for width in widths:
            layers.append((self.gen((fan_in, width), env, depth - 1), self.gen((width,), env, depth - 1)))
            fan_in = width
        text = " ".join(f"{{:weight {w} :bias {b}}}" for (w, _), (b, _) in layers)

        def run(e):
            v = f(e)
            for (_, w), (_, b) in layers:
                v = np.tanh(v @ w(e) + b(e))
            return v

        return f"(reduce (fn [h_ layer_] (with-params [layer_] (tanh (linear h_ weight bias)))) {x} (list {text}))", run

    def form_call(self, shape, env, depth):
        known = [f for f in self.functions if f[2] == shape]
        if not known:
            return None
        name, shapes, _, meaning = self.pick(known)
        args = [self.gen(s, env, depth) for s in shapes]
        return f"({name} {' '.join(a for a, _ in args)})", lambda e: meaning([f(e) for _, f in args])

    def value_of(self, meaning, given, blur=0.0):
        self.blur, self.quotients = blur, 0
        with np.errstate(all="ignore"):
            value = np.asarray(meaning({n: v + blur for n, v in given.items()}))
        self.blur = 0.0
        return value

    def program(self):
        lines, results = [], []
        size = self.pick([4, 8, 15, 30])
        for k in range(self.random.randint(0, 2)):
            shapes, result = [self.shape() for _ in range(self.random.randint(1, 3))], self.shape()
            params = self.random.sample(NAMES, len(shapes))
            self.budget = size
            body, meaning = self.gen(result, dict(zip(params, shapes)), 4)
            lines.append(f"(defn fun{k} [{' '.join(params)}] {body})")
            self.functions.append(
                (f"fun{k}", shapes, result, lambda vs, params=params, meaning=meaning: meaning(dict(zip(params, vs))))
            )
        given = {}
        for k in range(3):
            text, meaning = self.constant(self.shape())
            given[f"g{k}"] = np.asarray(meaning({}))
            lines.append(f"(def g{k} {text})")
        for _ in range(2):
            self.budget = size
            shape = self.shape()
            text, meaning = self.gen(shape, {n: v.shape for n, v in given.items()}, 5)
            lines.append(f"(let [r {text}] (print {'(dims r)' if shape else 1} (map (fn [v] v) (reshape r [-1]))))")
            value = self.value_of(meaning, given)
            assert value.shape == shape, (value.shape, shape, text)
            if not np.all(np.abs(value) < 1e4) or not close(self.value_of(meaning, given, 5e-6), value, 0.3):
                raise PassedOver
            results.append((shape, value))
        return "\n".join(lines), results


def close(got, want, share=1.0):
    return np.allclose(got, want, rtol=5e-3 * share, atol=5e-4 * share * (1 + np.abs(want).max(initial=0)))


def agrees(line, expected):
    shape, value = expected
    sizes, _, numbers = line.partition("] [") if shape else line.partition(" [")
    if shape and sizes.strip("[]") != ", ".join(map(str, shape)):
        return False
    try:
        got = np.array([float(v) for v in numbers.rstrip("]").split(", ")])
    except ValueError:
        return False
    want = np.ravel(value)
    return got.shape == want.shape and close(got, want)


def made(seed):
    return Programs(seed).program()


def all_agree(lines, expected):
    return len(lines) == len(expected) and all(map(agrees, lines, expected))


if __name__ == "__main__":
    main(made, all_agree)
