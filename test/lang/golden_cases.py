"""What the scripts that write golden cases share: arrays as programs, results as printed, and cases of a function in
all the ways that it is used (value, first and second derivative, under vmap)."""

import numpy as np


def program(x):
    """An array, or a list of arrays in one literal, as it is written; ints with their dtype."""
    if isinstance(x, (list, tuple)):
        return "(list " + " ".join(program(v) for v in x) + ")"
    x = np.asarray(x)
    if x.size == 0:
        return f"(zeros '[{' '.join(map(str, x.shape))}])"
    text = literal(x)
    return text if x.dtype.kind == "f" or x.ndim == 0 else f"(cast {text} :{'bool' if x.dtype.kind == 'b' else 'i32'})"


def literal(x):
    if x.ndim:
        return "[" + " ".join(literal(v) for v in x) + "]"
    return number(x)


def number(v):
    v = float(v)
    if v == 0 and np.signbit(v):
        return "-0.0"
    if np.isnan(v):
        return "nan"
    if np.isinf(v):
        return "inf" if v > 0 else "-inf"
    return repr(int(v)) if v == int(v) and abs(v) < 1e15 else repr(v)


def printed(v):
    if isinstance(v, (bool, np.bool_)):
        return str(bool(v)).lower()
    return {"nan": "NaN"}.get(number(v), number(float(f"{float(v):.9g}")))


class Cases:
    def __init__(self, path, made_by):
        self.out = open(path, "w")
        self.out.write(f";;; Made by {made_by}; do not edit.\n")

    def raw(self, text):
        self.out.write(text.rstrip() + "\n")

    def text(self, title, code, want):
        self.raw(f"--- {title}\n{code}\n" + "\n".join("=> " + line for line in want.split("\n")))

    def fails(self, title, code, message):
        self.raw(f"--- {title}\n{code}\n!! {message}")

    def value(self, title, code, want):
        """A number as it is; an array as its sizes and its elements."""
        want = np.asarray(want)
        if want.ndim == 0:
            self.raw(f"--- {title}\n{code}\n~> {printed(want[()])}")
            return
        if want.size == 0:
            self.raw(f"--- {title}\n(dims {code})\n=> [{', '.join(map(str, want.shape))}]")
            return
        # A list, whose elements are all printed.
        elements = ", ".join(printed(v) for v in want.reshape(-1))
        sizes = ", ".join(map(str, want.shape))
        code = f"(let [y {code}] (print (dims y)) (map identity (float (reshape y '[{want.size}]))))"
        self.raw(f"--- {title}\n{code}\n=> [{sizes}]\n~> [{elements}]")

    def function(self, title, code, f, x, derivatives=2, atol=0.0):
        """code is a Sheaf expression in x, f the same in NumPy on float64, x an array of floats."""
        x = np.asarray(x, np.float64)
        self.value(title, f"(let [x {program(x)}] {code})", f(x))
        many = np.stack([x, x + 0.25])
        self.value(f"{title}, vmap", f"((vmap (fn [x] {code})) {program(many)})", np.stack([f(v) for v in many]))
        rng = np.random.default_rng(1)
        w = rng.integers(-8, 9, np.shape(f(x))) / 4
        loss = f"(fn [x] (sum (* {program(w)} {code})))"
        total = lambda v: float(np.sum(w * f(v)))
        if derivatives > 0:
            g = central(total, x, 1e-5)
            self.value(f"{title}, gradient", f"(* 1.0 ((grad {loss}) {program(x)}))", tidy(g))
        if derivatives > 1:
            u = rng.integers(-8, 9, x.shape) / 4
            h = central(lambda v: float(np.sum(u * central(total, v, 1e-3))), x, 1e-3)
            self.raw(";;; tolerance 2e-4 2e-4")
            self.value(
                f"{title}, second derivative",
                f"(* 1.0 ((grad (fn [x] (sum (* {program(u)} ((grad {loss}) x))))) {program(x)}))",
                np.round(h, 5) + 0.0,
            )
            self.raw(";;; tolerance 2e-6 1e-7")


def tidy(g):
    """Differences of functions leave noise where the derivative is 0."""
    return np.round(g, 9) + 0.0


def central(f, x, step):
    """The gradient of f at x by differences of fourth order."""
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        at = lambda k: f(x + k * step * (np.arange(x.size).reshape(x.shape) == np.ravel_multi_index(i, x.shape)))
        g[i] = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
    return g
