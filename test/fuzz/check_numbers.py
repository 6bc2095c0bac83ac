"""Random programs over ints, floats, bools, 0-d tensors and small tensors whose result is known to the letter: which
kind of number comes out of what, in loops too, whose accumulator changes its kind from turn to turn. The rules are
written down here once more, from the text of the specification.

Usage: python check_numbers.py PATH-OF-SHEAF [FIRST-SEED [LAST-SEED [FLAG …]]]    e.g. … build/sheaf 0 1000 --jit=always
Prints the programs whose output differs; the exit status is 1 if there are any.
"""

import operator
import random

import numpy as np

from meaning import PassedOver, main

F32 = np.float32
NAMES = "a b c d p q u w".split()  # few, so that they shadow each other
COMPARE = {"<": operator.lt, ">": operator.gt, "<=": operator.le}
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "maximum": np.maximum, "minimum": np.minimum}


class Undefined(Exception):
    """An error in the language, or a case its text leaves open."""


# A value is an int, a bool, an F32, an array (a tensor: f32, i32 or bool), a list or a dict.


def is_tensor(v):
    return isinstance(v, np.ndarray)


def is_array(v):
    return is_tensor(v) and v.ndim > 0


def number(v):
    if isinstance(v, (list, dict)):
        raise Undefined
    return v


def float_text(x):
    if x == int(x):
        return f"{int(x)}.0"
    return np.format_float_positional(x, unique=True, trim="0")


def element_text(x, dtype):
    if dtype == np.bool_:
        return str(bool(x)).lower()
    return str(int(x)) if dtype == np.int32 else float_text(x).removesuffix("0") if x == int(x) else float_text(x)


def shown(v):
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, F32):
        return float_text(v)
    if is_tensor(v):
        texts = [element_text(x, v.dtype) for x in np.ravel(v)]
        width = 0 if v.dtype == np.bool_ else max(map(len, texts))
        return "[" + " ".join(t.rjust(width) for t in texts) + "]" if v.ndim else texts[0]
    if isinstance(v, list):
        return "[" + ", ".join(map(shown, v)) + "]"
    if isinstance(v, dict):
        return "{" + ", ".join(f":{k} {shown(v[k])}" for k in sorted(v)) + "}"
    return str(v)


def small(x):
    """Below a million f32 is exact."""
    if np.any(np.abs(np.asarray(x, dtype=np.float64)) > 1e6):
        raise Undefined
    return x


def arithmetic(name, a, b):
    f, a, b = ARITHMETIC[name], number(a), number(b)
    if not is_array(a) and not is_array(b):
        if is_tensor(a) or is_tensor(b) or isinstance(a, F32) or isinstance(b, F32):  # a 0-d tensor gives a float
            return F32(small(f(F32(a), F32(b))))
        return int(small(f(int(a), int(b))))
    kinds = [
        v.dtype.kind if is_tensor(v) else "f" if isinstance(v, F32) else "b" if isinstance(v, bool) else "i"
        for v in (a, b)
    ]
    if kinds == ["b", "b"] or (
        is_array(a) and is_array(b) and a.shape != b.shape and 1 not in (a.shape[0], b.shape[0])
    ):
        raise Undefined
    dtype = F32 if "f" in kinds else np.int32
    return np.asarray(small(f(np.asarray(a).astype(dtype), np.asarray(b).astype(dtype))))


def negated(v):
    if isinstance(number(v), bool) or (is_tensor(v) and v.dtype == np.bool_):
        raise Undefined
    return np.asarray(-v) if is_tensor(v) else -v


def divided(v, k):
    return np.asarray(v.astype(F32) / F32(k)) if is_array(number(v)) else F32(F32(v) / F32(k))


def floored(name, v, k):
    x = np.asarray(number(v)).astype(np.float64)
    result = np.floor(x / k) if name == "//" else x - k * np.floor(x / k)
    floats = isinstance(k, float) or isinstance(v, F32) or (is_tensor(v) and (v.ndim == 0 or v.dtype == F32))
    if is_array(v):
        return np.asarray(result).astype(F32 if floats else np.int32)
    return F32(result) if floats else int(result)


def converted(name, v):
    if name == "+":
        return number(v)
    if name == "int":
        return np.floor(v.astype(np.float64)).astype(np.int32) if is_array(number(v)) else int(float(v))
    if name == "float":
        return v.astype(F32) if is_tensor(number(v)) else F32(v)
    if name == "abs":
        return np.asarray(np.abs(v.astype(F32))) if is_tensor(number(v)) else F32(abs(float(v)))
    of = np.sum if name == "sum" else np.max
    return F32(of(np.asarray(number(v)).astype(np.float64)))


def is_true(v):
    return bool(v != 0) if not isinstance(v, (list, dict)) and not is_array(v) else True


def compared(name, a, b):
    if any([is_tensor(number(v)) for v in (a, b)]):
        raise Undefined
    return bool(COMPARE[name](a, b))


def vector(items):
    if any(is_array(v) or isinstance(v, (list, dict)) for v in items):
        raise Undefined  # may stack
    if all(isinstance(v, (int, F32)) and not isinstance(v, bool) for v in items):
        return np.array(items, dtype=F32)
    return items


def elements(v):
    if is_array(v):
        return [F32(x) for x in v]
    if not isinstance(v, list):
        raise Undefined
    return v


class Programs:
    """gen(names, depth) gives (text, meaning); a meaning maps {name: value} to a value."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = []  # (name, meaning), of two parameters
        self.forms = [getattr(self, n) for n in sorted(dir(self)) if n.startswith("form_")] + 3 * [self.form_arithmetic]

    def pick(self, xs):
        return self.random.choice(xs)

    def constant(self):
        n, three = self.random.randint(-3, 6), [self.random.randint(-3, 5) for _ in range(3)]
        return self.pick(
            [
                (str(n), lambda e: n),
                (str(n), lambda e: n),
                (str(n / 4), lambda e: F32(n / 4)),
                (str(n / 4), lambda e: F32(n / 4)),
                (str(n > 1).lower(), lambda e: n > 1),
                (f"(where true {n / 4} 0)", lambda e: np.array(n / 4, dtype=F32)),
                ("[" + " ".join(str(x / 2) for x in three) + "]", lambda e: np.array(three, dtype=F32) / F32(2)),
                (f"(arange {n} {n + 3})", lambda e: np.arange(n, n + 3, dtype=np.int32)),
                ("(> [" + " ".join(map(str, three)) + "] 1)", lambda e: np.array(three) > 1),
            ]
        )

    def gen(self, names, depth):
        self.budget -= 1
        if names and (depth <= 0 or self.random.random() < 0.3):
            n = self.pick(sorted(names))
            return n, lambda e: e[n]
        return self.pick(self.forms)(names, depth - 1) if depth > 0 and self.budget > 0 else self.constant()

    def several(self, count, names, depth):
        return [self.gen(names, depth) for _ in range(count)]

    def form_arithmetic(self, names, depth):
        name, ((a, f), (b, g)) = self.pick(sorted(ARITHMETIC)), self.several(2, names, depth)
        return f"({name} {a} {b})", lambda e: arithmetic(name, f(e), g(e))

    def form_one(self, names, depth):
        (a, f), k, name = self.gen(names, depth), self.pick([2, 3, 2.0]), self.pick(["//", "mod"])
        convert, half = self.pick(["int", "float", "abs", "sum", "max", "+"]), self.pick([2, 4, 0.5])
        return self.pick(
            [
                (f"(- {a})", lambda e: negated(f(e))),
                (f"(/ {a} {half})", lambda e: divided(f(e), half)),
                (f"({name} {a} {k})", lambda e: floored(name, f(e), k)),
                (f"({convert} {a})", lambda e: converted(convert, f(e))),
            ]
        )

    def form_choice(self, names, depth):
        name, ((x, fx), (y, fy), (a, f), (b, g)) = self.pick(sorted(COMPARE)), self.several(4, names, depth)
        return self.pick(
            [
                (f"(if {x} {a} {b})", lambda e: f(e) if is_true(fx(e)) else g(e)),
                (f"(if ({name} {x} {y}) {a} {b})", lambda e: f(e) if compared(name, fx(e), fy(e)) else g(e)),
                (f"({name} {x} {y})", lambda e: compared(name, fx(e), fy(e))),
            ]
        )

    def form_let(self, names, depth):
        n, (a, f) = self.pick(NAMES), self.gen(names, depth)
        b, g = self.gen(names | {n}, depth)
        return f"(let [{n} {a}] {b})", lambda e: g({**e, n: f(e)})

    def form_collection(self, names, depth):
        items, i = self.several(self.random.randint(1, 3), names, depth), self.pick([0, -1])
        text, values = " ".join(t for t, _ in items), lambda e: [f(e) for _, f in items]
        a, f = items[0]
        return self.pick(
            [
                (f"[{text}]", lambda e: vector(values(e))),
                (f"(list {text})", values),
                (f"(get {a} {i})", lambda e: elements(f(e))[i]),
                (f"(nth {a} {i})", lambda e: elements(f(e))[i]),
                (f"{{:k {a}}}", lambda e: {"k": f(e)}),
                (f"(get {{:k {a}}} :k)", f),
            ]
        )

    def form_repeat(self, names, depth):
        n, turns, (a, f) = self.pick(NAMES), self.random.randint(0, 4), self.gen(names, depth)
        b, g = self.gen(names | {n, "i"}, depth)

        def run(e):
            v = f(e)
            for i in range(turns):
                v = g({**e, n: v, "i": i})
            return v

        return self.pick(
            [
                f"(repeat [i {turns}] [{n} {a}] {b})",
                f"(loop [{n} {a} i 0] (if (= i {turns}) {n} (recur {b} (+ i 1))))",
                f"(second (while (< (first st) {turns}) [st (list 0 {a})] (let [[i {n}] st] (list (+ i 1) {b}))))",
            ]
        ), run

    def form_fold(self, names, depth):
        (n, x), ((xs, fxs), (a, f)) = self.random.sample(NAMES, 2), self.several(2, names, depth)
        (b, g), (c, h) = self.several(2, names | {n, x}, depth)
        m, fm = self.gen(names | {x}, depth)

        def run(e, part):
            v, out = f(e), []
            for y in elements(fxs(e)):
                inner = {**e, n: v, x: y}
                v, o = g(inner), h(inner) if part else None
                out.append(o)
            return out if part == "second" else v

        part = self.pick(["first", "second"])
        return self.pick(
            [
                (f"(reduce (fn [{n} {x}] {b}) {a} {xs})", lambda e: run(e, None)),
                (f"({part} (scan (fn [{n} {x}] (list {b} {c})) {a} {xs}))", lambda e: run(e, part)),
                (f"(map (fn [{x}] {m}) {xs})", lambda e: [fm({**e, x: y}) for y in elements(fxs(e))]),
            ]
        )

    def form_call(self, names, depth):
        if not self.functions:
            return self.constant()
        (name, meaning), ((a, f), (b, g)) = self.pick(self.functions), self.several(2, names, depth)
        return f"({name} {a} {b})", lambda e: meaning(f(e), g(e))

    def program(self):
        lines, results = [], []
        for k in range(2):
            (p, q), self.budget = self.random.sample(NAMES, 2), 25
            body, meaning = self.gen({p, q}, 4)
            lines.append(f"(defn fun{k} [{p} {q}] {body})")
            self.functions.append((f"fun{k}", lambda x, y, p=p, q=q, meaning=meaning: meaning({p: x, q: y})))
        for _ in range(18):
            self.budget = 20
            text, meaning = self.form_call(set(), 0) if self.random.random() < 0.8 else self.gen(set(), 4)
            try:
                with np.errstate(all="ignore"):
                    expected = shown(meaning({}))
            except Undefined:
                continue
            times = 3  # compiled from the second call on
            lines += times * [f"(print (str {text}))"]
            results += times * [expected]
        if not results:
            raise PassedOver
        return "\n".join(lines), results


def made(seed):
    return Programs(seed).program()


if __name__ == "__main__":
    main(made, operator.eq)
