"""Random programs whose result is known: every form is made together with a Python function that says what it means, so
a fault that all modes of the program share is found too (which values are still needed, scopes, the order of effects).

Usage: python check_meaning.py PATH-OF-SHEAF [FIRST-SEED [LAST-SEED [FLAG …]]]    e.g. … build/sheaf 0 1000 --jit=always
Prints the programs whose output differs; the exit status is 1 if there are any.
"""

import operator
import random

from meaning import PassedOver, main

NAMES = "a b c d p q u mean".split()  # few, so that they shadow each other, and a built-in one
KINDS = [
    "int",
    "int",
    "int",
    "int",
    "list",
    "list",
    "dict",
    "tensor",
    "float",
    "string",
    "string",
    "tree",
    "function",
    "bool",
]
CHARACTERS = ["a", "b", "Z", " ", ",", "é", "λ", "x", "{", "~"]
MAX_EFFECTS = 3000


MACROS = """(defmacro m-unless [c x y] `(if ~c ~y ~x))
(defmacro m-it [v & body] `(let [it ~v] ~@body))
(defmacro m-twice [x] `(+ ~x ~x))
(defmacro m-sum [x & xs] (if (= (len xs) 0) x `(+ ~x (m-sum ~@xs))))
(defmacro m-last [& xs] `(last (list ~@xs)))
(defmacro m-infix [form] `(~(second form) ~(first form) ~(nth form 2)))
(defmacro m-let [name value body] `((fn [~name] ~body) ~value))
(defmacro m-dict [x y] `{:one ~x :in {:two ~y}})
(defmacro m-cond [c x y] `(m-unless (not ~c) ~x ~y))
(defn product-of [pair] `(* ~(first pair) ~(second pair)))
(defmacro m-pairs [& pairs] `(+ ~@(map product-of pairs)))"""


class Raised(Exception):
    """An error of the program, with its message."""


def shown(v):
    if isinstance(v, dict):
        return "{" + ", ".join(f":{k} {shown(v[k])}" for k in sorted(v)) + "}"
    if isinstance(v, tuple):  # a tensor
        texts = [f"{x}." for x in v]
        return "[" + " ".join(t.rjust(max(map(len, texts))) for t in texts) + "]"
    if isinstance(v, bool):
        return str(v).lower()
    if v is None:
        return "nil"
    if callable(v):
        return "<function>"
    return (
        "[" + ", ".join(f"'{x}'" if isinstance(x, str) else shown(x) for x in v) + "]"
        if isinstance(v, list)
        else str(v)
    )


def quoted(s):
    return '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'


def small(x):
    """Floats stay multiples of a quarter below 100, so that f32 has them exactly."""
    return x % 97.0


def grouped(f, xs):
    groups = {}
    for x in xs:
        groups.setdefault(str(f(x)), []).append(x)
    return groups


class Programs:
    """gen(kind, env, depth) gives (text, meaning); env maps visible names to kinds, a meaning maps {name: value} to a
    value.
    Values: int, list of ints, dict with x and y, tensor of two as a tuple, float, string, bool, tree (a dict with an
    int n, a list l and a dict d with an int x and a string s), function of an int to an int. None is ever changed in
    place."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = []  # (name, kinds of parameters, kind of result, meaning)
        self.effects = []
        self.last_number = 0
        self.forms = [getattr(self, n) for n in sorted(dir(self)) if n.startswith("form_")]

    # Small helpers

    def pick(self, xs):
        return self.random.choice(xs)

    def kind(self):
        return self.pick(KINDS)

    def number(self):
        self.last_number += 1
        return self.last_number

    def two_names(self):
        return self.random.sample(NAMES, 2)

    def gen(self, kind, env, depth):
        self.budget -= 1
        known = sorted(n for n, k in env.items() if k == kind)
        stop = depth <= 0 or self.budget < 0
        if known and (stop or self.random.random() < 0.3):
            n = self.pick(known)
            return n, lambda e: e[n]
        if stop:
            return self.constant(kind)
        form = self.primitive if self.random.random() < 0.3 else self.pick(self.forms)
        text, meaning = form(kind, env, depth - 1)
        if self.random.random() >= 0.15:
            return text, meaning
        n = self.number()

        def with_effect(e):
            self.effects.append(n)
            if len(self.effects) > MAX_EFFECTS:
                raise PassedOver
            return meaning(e)

        return f"(do (swap! effects append {n}) {text})", with_effect

    def constant(self, kind):
        x, y = self.random.randint(-3, 9), self.random.randint(-3, 9)
        if kind == "int":
            return str(x), lambda e: x
        if kind == "list":
            items = [self.random.randint(-3, 9) for _ in range(self.random.randint(0, 3))]
            return "(list" + "".join(f" {i}" for i in items) + ")", lambda e: items
        if kind == "dict":
            return f"{{:x {x} :y {y}}}", lambda e: {"x": x, "y": y}
        if kind == "float":
            return str(x / 4), lambda e: x / 4
        if kind == "bool":
            return str(x > 2).lower(), lambda e: x > 2
        if kind == "string":
            text = "".join(self.pick(CHARACTERS) for _ in range(self.random.randint(0, 4)))
            return quoted(text), lambda e: text
        if kind == "tree":
            text, meaning = self.constant("string")
            return f"{{:n {x} :l (list {y}) :d {{:x {y} :s {text}}}}}", lambda e: {
                "n": x,
                "l": [y],
                "d": {"x": y, "s": meaning(e)},
            }
        if kind == "function":
            return self.pick(
                [
                    (f"(fn [n_] (- n_ {x}))", lambda e: lambda n: n - x),
                    (f"(partial + {x})", lambda e: lambda n: n + x),
                    ("(fn [n_] (inc n_))", lambda e: lambda n: n + 1),
                ]
            )
        return f"[{x} {y}]", lambda e: (x, y)

    def condition(self, env, depth):
        (a, fa), (b, fb) = self.gen("int", env, depth), self.gen("int", env, depth)
        name, op = self.pick(
            [("<", operator.lt), (">", operator.gt), ("<=", operator.le), (">=", operator.ge), ("=", operator.eq)]
        )
        return f"({name} {a} {b})", lambda e: op(fa(e), fb(e))

    def then(self, kind, env, depth, name, bound):
        """The form that goes on with `name` bound to something of the kind `bound`."""
        return self.gen(kind, {**env, name: bound}, depth)

    # Functions of the language

    def primitive(self, kind, env, depth):
        arg = lambda k: self.gen(k, env, depth)
        i = self.random.randint(0, 1)
        if kind == "int":
            (a, fa), (b, fb), (xs, fxs), (d, fd), (t, ft) = (
                arg("int"),
                arg("int"),
                arg("list"),
                arg("dict"),
                arg("tensor"),
            )
            (s, fs), (r, fr), (g, fg) = arg("string"), arg("tree"), arg("function")
            # The head of a call is evaluated before its arguments.
            called = lambda e: (lambda h: h(fa(e)))(fg(e))
            return self.pick(
                [
                    (f"(len {s})", lambda e: len(fs(e).encode())),
                    (f"(get-in {r} [:d :x])", lambda e: fr(e)["d"]["x"]),
                    (f"(get {r} :d :x)", lambda e: fr(e)["d"]["x"]),
                    (
                        f"(tree-reduce (fn [n_ v_] (if (int? v_) (+ n_ v_) n_)) {r} 0)",
                        lambda e: (lambda v: v["n"] + sum(v["l"]) + v["d"]["x"])(fr(e)),
                    ),
                    (f"(mod ({g} {a}) 101)", lambda e: called(e) % 101),
                    (
                        f"(mod (-> {a} {g}) 101)" if g[0] != "(" else f"(mod (-> {a} ({g})) 101)",
                        lambda e: called(e) % 101,
                    ),
                    (f"(index-of {xs} {a})", lambda e: (lambda v, x: v.index(x) if x in v else -1)(fxs(e), fa(e))),
                    (f"(count (filter (fn [n_] (> n_ 2)) {xs}))", lambda e: sum(n > 2 for n in fxs(e))),
                    (f"(maximum {a} {b})", lambda e: max(fa(e), fb(e))),
                    (f"(clamp {a} -5 5)", lambda e: max(min(fa(e), 5), -5)),
                    (f"(// {a} (+ 1 (mod {b} 4)))", lambda e: fa(e) // (1 + fb(e) % 4)),
                    (f"(+ {a} {b})", lambda e: fa(e) + fb(e)),
                    (f"(- {a} {b})", lambda e: fa(e) - fb(e)),
                    (f"(mod (* {a} {b}) 97)", lambda e: fa(e) * fb(e) % 97),
                    (f"(-> {a} (- {b}) (mod 7))", lambda e: (fa(e) - fb(e)) % 7),
                    (f"(len {xs})", lambda e: len(fxs(e))),
                    (f"(reduce + 0 {xs})", lambda e: sum(fxs(e))),
                    (f"(get {d} :y)", lambda e: fd(e)["y"]),
                    (f"(int (sum {t}))", lambda e: sum(ft(e))),
                    (f"(int (get {t} {i}))", lambda e: ft(e)[i]),
                ]
            )
        if kind == "list":
            (a, fa), (b, fb), (xs, fxs), (ys, fys), (d, fd) = (
                arg("int"),
                arg("int"),
                arg("list"),
                arg("list"),
                arg("dict"),
            )
            (r, fr), (g, fg) = arg("tree"), arg("function")
            return self.pick(
                [
                    (f"(sort {xs})", lambda e: sorted(fxs(e))),
                    (f"(sort {xs} :key (fn [n_] (mod n_ 3)))", lambda e: sorted(fxs(e), key=lambda n: n % 3)),
                    (f"(sort {xs} :reverse)", lambda e: sorted(fxs(e), reverse=True)),
                    (
                        f"(apply concat (list) (vals (group-by (fn [n_] (mod n_ 2)) {xs})))",
                        lambda e: sum(dict(sorted(grouped(lambda n: n % 2, fxs(e)).items())).values(), []),
                    ),
                    (
                        f"(map (fn [n_] (mod n_ 89)) (map {g} {xs}))",
                        lambda e: (lambda h, v: [h(n) % 89 for n in v])(fg(e), fxs(e)),
                    ),
                    (
                        f"(second (scan (fn [n_ v_] (list (+ n_ v_) n_)) {a} {xs}))",
                        lambda e: (lambda x, v: [x + sum(v[:i]) for i in range(len(v))])(fa(e), fxs(e)),
                    ),
                    (f"(get {r} :l)", lambda e: fr(e)["l"]),
                    (f"(rest {xs})", lambda e: fxs(e)[1:]),
                    (f"(map first (enumerate {xs}))", lambda e: list(range(len(fxs(e))))),
                    (
                        f"(map (fn [n_] (apply + n_)) (partition 2 {xs}))",
                        lambda e: (lambda v: [v[i] + v[i + 1] for i in range(0, len(v) - 1, 2)])(fxs(e)),
                    ),
                    (
                        f"(->> {xs} (filter (fn [n_] (> n_ 0))) (map (fn [n_] (mod n_ 5))))",
                        lambda e: [n % 5 for n in fxs(e) if n > 0],
                    ),
                    (
                        f'(map (fn [t_] (parse-int t_)) (str-call "split" (str-call "join" "," (map str (cons {a} {xs}))) ","))',
                        lambda e: (lambda x, v: [x] + v)(fa(e), fxs(e)),
                    ),
                    (f"(append {xs} {a})", lambda e: fxs(e) + [fa(e)]),
                    (f"(take 5 (cons {a} {xs}))", lambda e: ([fa(e)] + fxs(e))[:5]),
                    (f"(list {a} {b})", lambda e: [fa(e), fb(e)]),
                    (f"(take 5 (concat {xs} {ys}))", lambda e: (fxs(e) + fys(e))[:5]),
                    (f"(vals {d})", lambda e: [v for _, v in sorted(fd(e).items())]),
                    (f"(flip {xs})", lambda e: fxs(e)[::-1]),
                ]
            )
        if kind == "dict":
            (a, fa), (b, fb), (d, fd), (r, fr) = arg("int"), arg("int"), arg("dict"), arg("tree")
            return self.pick(
                [
                    (f"(update {d} :x + {a})", lambda e: (lambda v, x: {**v, "x": v["x"] + x})(fd(e), fa(e))),
                    (f"(tree-map (fn [n_] (- n_)) {d})", lambda e: {k: -v for k, v in fd(e).items()}),
                    (f"(dissoc (assoc {d} :z {a}) [:z :none])", lambda e: (fd(e), fa(e))[0]),
                    (f"(zipmap (list :x :y) (list {a} {b}))", lambda e: {"x": fa(e), "y": fb(e)}),
                    (f'(dict :y {a} "x" {b})', lambda e: dict(y=fa(e), x=fb(e))),
                    (
                        f"(assoc (dissoc (get {r} :d) [:s]) :y {a})",
                        lambda e: (lambda v, x: {"x": v["d"]["x"], "y": x})(fr(e), fa(e)),
                    ),
                    (f"(assoc {d} :x {a})", lambda e: {**fd(e), "x": fa(e)}),
                    (f"{{:x {a} :y {b}}}", lambda e: {"x": fa(e), "y": fb(e)}),
                    (f"(merge {d} {{:y {a}}})", lambda e: {**fd(e), "y": fa(e)}),
                ]
            )
        if kind in ("float", "string", "bool", "tree", "function"):
            return getattr(self, "primitive_" + kind)(arg)
        put = lambda t, v: (v % 50, t[1]) if i == 0 else (t[0], v % 50)
        (a, fa), (t, ft), (s, fs) = arg("int"), arg("tensor"), arg("tensor")
        return self.pick(
            [
                (f"(index-update {t} {i} (mod {a} 50))", lambda e: put(ft(e), fa(e))),
                (f"(at-set {t} (mod {a} 50) {i})", lambda e: put(ft(e), fa(e))),
                (f"(mod (+ {t} {s}) 50)", lambda e: tuple((x + y) % 50 for x, y in zip(ft(e), fs(e)))),
                (f"(relu {t})", lambda e: tuple(max(x, 0) for x in ft(e))),
                (f"(flip {t})", lambda e: ft(e)[::-1]),
            ]
        )

    def primitive_float(self, arg):
        (a, fa), (x, fx), (y, fy), (t, ft) = arg("int"), arg("float"), arg("float"), arg("tensor")
        i = self.random.randint(0, 1)
        return self.pick(
            [
                (f"(mod (+ {x} {y}) 97)", lambda e: small(fx(e) + fy(e))),
                (f"(mod (- {a} {x}) 97.0)", lambda e: small(fa(e) - fx(e))),
                (f"(/ (mod {a} 97) 4)", lambda e: fa(e) % 97 / 4),
                (f"(float {a})", lambda e: float(fa(e))),
                (f"(get {t} {i})", lambda e: float(ft(e)[i])),
                (f"(sum {t})", lambda e: float(sum(ft(e)))),
                (f"(floor {x})", lambda e: float(fx(e) // 1)),
                (f"(abs {a})", lambda e: float(abs(fa(e)))),
                (f"(max (list {a} 2 {x}))", lambda e: float(max(fa(e), 2, fx(e)))),
            ]
        )

    def primitive_bool(self, arg):
        (a, fa), (b, fb), (c, fc), (s, fs), (xs, fxs), (ys, fys) = (
            arg("int"),
            arg("bool"),
            arg("bool"),
            arg("string"),
            arg("list"),
            arg("list"),
        )
        return self.pick(
            [
                (f"(not {b})", lambda e: not fb(e)),
                (f"(and {b} {c})", lambda e: fb(e) and fc(e)),
                (f"(or {b} {c})", lambda e: fb(e) or fc(e)),
                (f"(= {b} {c})", lambda e: fb(e) == fc(e)),
                (f"(= {xs} {ys})", lambda e: fxs(e) == fys(e)),
                (f"(empty? {xs})", lambda e: not fxs(e)),
                (f"(every? (fn [n_] (> n_ 1)) {xs})", lambda e: all(n > 1 for n in fxs(e))),
                (f'(str-call "contains" {s} "a")', lambda e: "a" in fs(e)),
                (f"(= (str {a}) {s})", lambda e: str(fa(e)) == fs(e)),
                (f"(!= {a} 2)", lambda e: fa(e) != 2),
            ]
        )

    def primitive_string(self, arg):
        (a, fa), (x, fx), (s, fs), (r, fr), (xs, fxs) = (
            arg("int"),
            arg("float"),
            arg("string"),
            arg("tree"),
            arg("list"),
        )
        k = self.pick(KINDS)
        v, fv = arg(k)
        return self.pick(
            [
                (f"(str {s} {a} {v})", lambda e: fs(e) + str(fa(e)) + shown(fv(e)))
                if k != "function"
                else (f"(str {x})", lambda e: shown(fx(e))),
                (f'(str-call "upper" {s})', lambda e: fs(e).upper()),
                (f'(str-call "replace" {s} "a" "bb")', lambda e: fs(e).replace("a", "bb")),
                (f'(str-call "join" "/" (str-call "split" {s} ","))', lambda e: "/".join(fs(e).split(","))),
                (f'(str-call "join" "" (flip (chars {s})))', lambda e: fs(e)[::-1]),
                (f'(str-call "format" "{{:>4}}|{{}}|{{{{" {a} {xs})', lambda e: f"{fa(e):>4}|{shown(fxs(e))}|{{"),
                (f'(str-call "format" "{{:.2f}}" {x})', lambda e: f"{fx(e):.2f}"),
                (f"(get-in {r} [:d :s])", lambda e: fr(e)["d"]["s"]),
                (
                    f'(reduce (fn [n_ v_] (str n_ v_ ";")) {s} {xs})',
                    lambda e: (lambda t, v: t + "".join(f"{n};" for n in v))(fs(e), fxs(e)),
                ),
                (f"(str (map (fn [n_] (str n_)) {xs}))", lambda e: shown([str(n) for n in fxs(e)])),
                (f'(if (empty? (chars {s})) "none" (get {s} -1))', lambda e: fs(e)[-1] if fs(e) else "none")
                if s[0] == '"' or s.isalnum()
                else (s, fs),
                (f'(concat {s} {a} "c")', lambda e: fs(e) + str(fa(e)) + "c"),
            ]
        )

    def primitive_tree(self, arg):
        (a, fa), (s, fs), (r, fr), (xs, fxs), (d, fd) = arg("int"), arg("string"), arg("tree"), arg("list"), arg("dict")
        inner = lambda v, **kw: {**v, "d": {**v["d"], **kw}}
        return self.pick(
            [
                (f"(assoc-in {r} [:d :x] {a})", lambda e: (lambda v, n: inner(v, x=n))(fr(e), fa(e))),
                (f'(update-in {r} [:d :s] str "+")', lambda e: (lambda v: inner(v, s=v["d"]["s"] + "+"))(fr(e))),
                (
                    f"(assoc {r} :l {xs} :n {a})",
                    lambda e: (lambda v, l, n: {**v, "l": l, "n": n})(fr(e), fxs(e), fa(e)),
                ),
                (
                    f"{{:n {a} :l {xs} :d {{:s {s} :x 4}}}}",
                    lambda e: {"n": fa(e), "l": fxs(e), "d": {"s": fs(e), "x": 4}},
                ),
                (
                    f"(tree-map (fn [n_] (if (string? n_) n_ (+ n_ 1))) {r})",
                    lambda e: (
                        lambda v: {
                            "n": v["n"] + 1,
                            "l": [n + 1 for n in v["l"]],
                            "d": {"x": v["d"]["x"] + 1, "s": v["d"]["s"]},
                        }
                    )(fr(e)),
                ),
                (
                    f"(merge {r} {{:d (assoc (dissoc {d} [:y]) :s {s})}})",
                    lambda e: (lambda v, w, t: {**v, "d": {"x": w["x"], "s": t}})(fr(e), fd(e), fs(e)),
                ),
            ]
        )

    def primitive_function(self, arg):
        (a, fa), (g, fg), (h, fh), (xs, fxs) = arg("int"), arg("function"), arg("function"), arg("list")
        return self.pick(
            [
                (f"(comp {g} {h})", lambda e: (lambda v, w: lambda n: v(w(n)))(fg(e), fh(e))),
                (f"(partial - {a})", lambda e: (lambda v: lambda n: v - n)(fa(e))),
                (
                    f"(reduce (fn [n_ v_] (comp n_ (partial + v_))) {g} {xs})",
                    lambda e: (lambda v, t: lambda n: v(n + t))(fg(e), sum(fxs(e))),
                ),
                (f"(first (list {g} {h}))", lambda e: (fg(e), fh(e))[0]),
                (f"(get {{:f {g}}} :f)", lambda e: fg(e)),
            ]
        )

    def form_fn(self, kind, env, depth):
        if kind != "function":
            return self.primitive(kind, env, depth)
        p = self.pick(NAMES)
        body, meaning = self.gen("int", {**env, p: "int"}, depth)
        return f"(fn [{p}] {body})", lambda e: lambda n: meaning({**e, p: n})

    def form_macro(self, kind, env, depth):
        """The macros of MACROS, at the head of the program."""
        (a, fa), (b, fb) = self.gen("int", env, depth), self.gen("int", env, depth)
        (x, fx), (y, fy), (c, fc) = self.gen(kind, env, depth), self.gen(kind, env, depth), self.condition(env, depth)
        n = self.pick(NAMES)
        it, fit = self.gen(kind, {**env, "it": "int"}, depth)
        many = [self.gen("int", env, depth) for _ in range(self.random.randint(2, 4))]
        rest, frest = self.then(kind, env, depth, n, "int")

        def bound(f):
            return lambda e: frest({**e, n: f(e)})

        all_of = " ".join(t for t, _ in many)
        return self.pick(
            [
                (f"(m-unless {c} {x} {y})", lambda e: fy(e) if fc(e) else fx(e)),
                (f"(m-it {a} {it})", lambda e: fit({**e, "it": fa(e)})),
                (f"(let [{n} (m-twice {a})] {rest})", bound(lambda e: fa(e) + fa(e))),
                (f"(let [{n} (m-sum {all_of})] {rest})", bound(lambda e: sum([f(e) for _, f in many]))),
                (f"(let [{n} (m-last {all_of})] {rest})", bound(lambda e: [f(e) for _, f in many][-1])),
                (f"(let [{n} (m-infix ({a} - {b}))] {rest})", bound(lambda e: fa(e) - fb(e))),
                (f"(m-let {n} {a} {rest})", bound(fa)),
                (f"(let [{n} (get (m-dict {a} {b}) :in :two)] {rest})", bound(lambda e: (fa(e), fb(e))[1])),
                (f"(m-cond {c} {x} {y})", lambda e: fx(e) if fc(e) else fy(e)),
                (f"(let [{n} (m-pairs [{a} 2] [{b} 3])] {rest})", bound(lambda e: fa(e) * 2 + fb(e) * 3)),
            ]
        )

    def form_state(self, kind, env, depth):
        """An atom that a closure shares with what follows."""
        n, p = self.pick(NAMES), self.pick(NAMES)
        init, finit = self.gen("int", env, depth)
        step, fstep = self.gen("int", {**env, p: "int"}, depth)
        turns = self.random.randint(0, 3)
        rest, frest = self.then(kind, env, depth, n, "int")

        def run(e):
            v = finit(e)
            for k in range(turns):
                v = (v + fstep({**e, p: k})) % 1009
            return frest({**e, n: v})

        loop = f"(doseq [{p} '[{' '.join(map(str, range(turns)))}]] (put {p}))"
        return (
            f"(let [cell (atom {init}) put (fn [{p}] (let [v_ {step}] (swap! cell (fn [n_] (mod (+ n_ v_) 1009)))))] {loop} (let [{n} (deref cell)] {rest}))",
            run,
        )

    def form_nested_pattern(self, kind, env, depth):
        names = self.random.sample(NAMES, 4)
        (r, fr), (a, fa), (xs, fxs) = (
            self.gen("tree", env, depth),
            self.gen("int", env, depth),
            self.gen("list", env, depth),
        )
        m, n, o, q = names
        body, meaning = self.gen(kind, {**env, m: "int", n: "string", o: "int", q: "list"}, depth)

        def run(e):
            v = fr(e)
            x, rest = fa(e), fxs(e)
            return meaning({**e, m: v["d"]["x"], n: v["d"]["s"], o: x, q: rest})

        pattern, other = f"{{{{{m} :x {n} :s}} :d}}", f"[{o} & {q}]"
        return self.pick(
            [
                f"(let [tree_ {r} items_ (cons {a} {xs}) {pattern} tree_ {other} items_] {body})",
                f"((fn [{pattern} {other}] {body}) {r} (cons {a} {xs}))",
                f"(let [[{pattern} {other}] (list {r} (cons {a} {xs}))] {body})",
                f"(let [[_ {{:keys [none] :or {{none 1}}}} [{pattern} {other}]] (list 1 {{}} (list {r} (cons {a} {xs})))] {body})",
            ]
        ), run

    def form_call(self, kind, env, depth):
        known = [f for f in self.functions if f[2] == kind]
        if not known:
            return self.primitive(kind, env, depth)
        name, kinds, _, meaning = self.pick(known)
        args = [self.gen(k, env, depth) for k in kinds]
        return f"({name} {' '.join(a for a, _ in args)})", lambda e: meaning([f(e) for _, f in args])

    # Forms that bind

    def form_let(self, kind, env, depth):
        pairs = []
        for _ in range(self.random.randint(1, 3)):
            name, bound = self.pick(NAMES), self.kind()
            pairs.append((name, *self.gen(bound, env, depth)))
            env = {**env, name: bound}
        body, meaning = self.gen(kind, env, depth)

        def run(e):
            for name, _, value in pairs:
                e = {**e, name: value(e)}
            return meaning(e)

        return f"(let [{' '.join(f'{n} {t}' for n, t, _ in pairs)}] {body})", run

    def form_pattern(self, kind, env, depth):
        (m, n), (k, l) = self.two_names(), (self.kind(), self.kind())
        (a, fa), (b, fb) = self.gen(k, env, depth), self.gen(l, env, depth)
        body, meaning = self.gen(kind, {**env, m: k, n: l}, depth)
        return f"(let [[{m} {n}] (list {a} {b})] {body})", lambda e: meaning({**e, m: fa(e), n: fb(e)})

    def form_dict_pattern(self, kind, env, depth):
        m, n = self.two_names()
        d, fd = self.gen("dict", env, depth)
        body, meaning = self.gen(kind, {**env, m: "int", n: "int"}, depth)

        def run(e):
            v = fd(e)
            return meaning({**e, m: v["x"], n: v["y"]})

        return f"(let [{{{m} :x {n} :y}} {d}] {body})", run

    def form_as_arrow(self, kind, env, depth):
        n, bound = self.pick(NAMES), self.kind()
        a, fa = self.gen(bound, env, depth)
        (b, fb), (c, fc) = self.then(bound, env, depth, n, bound), self.then(kind, env, depth, n, bound)

        def run(e):
            e = {**e, n: fa(e)}
            return fc({**e, n: fb(e)})

        return f"(as-> {a} {n} {b} {c})", run

    def form_with_params(self, kind, env, depth):
        (a, fa), (b, fb) = self.gen("int", env, depth), self.gen("int", env, depth)
        body, meaning = self.gen(kind, {**env, "fx": "int", "fy": "int"}, depth)
        return f"(let [fields {{:fx {a} :fy {b}}}] (with-params [fields] {body}))", lambda e: meaning(
            {**e, "fx": fa(e), "fy": fb(e)}
        )

    # Forms that choose

    def form_if(self, kind, env, depth):
        (c, fc), (d, fd) = self.condition(env, depth), self.condition(env, depth)
        (x, fx), (y, fy), (z, fz) = (self.gen(kind, env, depth) for _ in range(3))
        return self.pick(
            [
                (f"(if {c} {x} {y})", lambda e: fx(e) if fc(e) else fy(e)),
                (f"(cond {c} {x} {d} {y} :else {z})", lambda e: fx(e) if fc(e) else fy(e) if fd(e) else fz(e)),
                (f"(if (and {c} {d}) {x} {y})", lambda e: fx(e) if fc(e) and fd(e) else fy(e)),
                (f"(if (or {c} {d}) {x} {y})", lambda e: fx(e) if fc(e) or fd(e) else fy(e)),
                (f"(do {x} {y})", lambda e: (fx(e), fy(e))[1]),
            ]
        )

    def form_case(self, kind, env, depth):
        a, fa = self.gen("int", env, depth)
        (x, fx), (y, fy) = self.gen(kind, env, depth), self.gen(kind, env, depth)
        k = self.random.randint(-2, 5)
        return f"(case {a} {k} {x} {y})", lambda e: fx(e) if fa(e) == k else fy(e)

    def form_try(self, kind, env, depth):
        (c, fc), (x, fx), (y, fy) = (
            self.condition(env, depth),
            self.gen(kind, env, depth),
            self.gen(kind, {**env, "message": "string"}, depth),
        )

        def run(e):
            try:
                if fc(e):
                    raise Raised("x")
                return fx(e)
            except Raised as r:
                return fy({**e, "message": r.args[0]})

        return f'(try (do (when {c} (error "x")) {x}) (catch err (let [message (get err :message)] {y})))', run

    def form_fault(self, kind, env, depth):
        """What fails under a condition; the whole program catches it, if nothing nearer does."""
        (c, fc), (x, fx), (a, fa) = self.condition(env, depth), self.gen(kind, env, depth), self.gen("int", env, depth)
        fault, message = self.pick(
            [
                ("(get (list 1 2) 5)", lambda v: "index 5 out of bounds for length 2"),
                ("(+ value_ :k)", lambda v: f"Expected numbers, got {v} and :k"),
                ("(first (list))", lambda v: "first: empty list"),
                ('(error (str "bad " value_))', lambda v: f"bad {v}"),
                ("(+ [1 2] [1 2 3])", lambda v: "Cannot broadcast shapes [2] and [3]"),
                ("(reduce + (list))", lambda v: "reduce: cannot reduce empty collection without init"),
                ("(no-such-function value_)", lambda v: "Unknown function: no-such-function"),
                ("(let [[a_ b_] (list value_)] a_)", lambda v: "let destructuring: arity mismatch"),
            ]
        )

        def run(e):
            if fc(e):
                raise Raised(message(fa(e)))
            return fx(e)

        return f"(do (if {c} (let [value_ {a}] {fault}) nil) {x})", run

    # Loops

    def form_loop(self, kind, env, depth):
        turns, count = self.random.randint(0, 4), self.pick(["i", "j"])
        inside, bindings = {**env, count: "int"}, []
        for name in self.random.sample(NAMES, self.random.randint(1, 3)):
            bound = self.kind()
            bindings.append((name, bound, *self.gen(bound, inside, depth)))
            inside = {**inside, name: bound}
        result, fresult = self.gen(kind, inside, depth)
        helper, bound = self.pick(NAMES), self.kind()
        help_text, fhelp = self.gen(bound, inside, depth)
        nexts = [self.gen(k, {**inside, helper: bound}, depth) for _, k, _, _ in bindings]

        def run(e):
            e = {**e, count: turns}
            for name, _, _, value in bindings:
                e = {**e, name: value(e)}
            while e[count] > 0:
                now = {**e, helper: fhelp(e)}
                values = [f(now) for _, f in nexts]
                e = {**e, count: e[count] - 1, **{b[0]: v for b, v in zip(bindings, values)}}
            return fresult(e)

        names = " ".join(f"{n} {t}" for n, _, t, _ in bindings)
        again = f"(let [{helper} {help_text}] (recur (- {count} 1) {' '.join(t for t, _ in nexts)}))"
        return f"(loop [{count} {turns} {names}] (if (<= {count} 0) {result} {again}))", run

    def form_counted(self, kind, env, depth):
        turns, n, bound = self.random.randint(0, 4), self.pick(NAMES), self.kind()
        init, finit = self.gen(bound, env, depth)
        body, fbody = self.gen(bound, {**env, "i": "int", n: bound}, depth)
        rest, frest = self.then(kind, env, depth, n, bound)

        def run(e):
            acc = finit(e)
            for i in range(turns):
                acc = fbody({**e, "i": i, n: acc})
            return frest({**e, n: acc})

        loop = self.pick(
            [
                f"(repeat [i {turns}] [{n} {init}] {body})",
                f"(second (while (< (first st) {turns}) [st (list 0 {init})] (let [[i {n}] st] (list (+ i 1) {body}))))",
            ]
        )
        return f"(let [{n} {loop}] {rest})", run

    def form_recursion(self, kind, env, depth):
        (p, q), bound, turns = self.two_names(), self.kind(), self.random.randint(0, 4)
        end, fend = self.gen(bound, {**env, p: "int", q: bound}, depth)
        step, fstep = self.gen(bound, {**env, p: "int", q: bound}, depth)
        (init, finit), n, name = self.gen(bound, env, depth), self.pick(NAMES), f"rec{self.number()}"
        rest, frest = self.then(kind, env, depth, n, bound)

        def run(e):
            v = finit(e)
            for k in range(turns, 0, -1):
                v = fstep({**e, p: k, q: v})
            return frest({**e, n: fend({**e, p: 0, q: v})})

        fn = f"(fn [{p} {q}] (if (<= {p} 0) {end} ({self.pick(['recur', name])} (- {p} 1) {step})))"
        return f"(let [{name} {fn} {n} ({name} {turns} {init})] {rest})", run

    # Functions and sequences

    def form_function(self, kind, env, depth):
        p, q = self.two_names()
        (a, fa), (b, fb) = self.gen("int", env, depth), self.gen("int", env, depth)
        body, meaning = self.gen(kind, {**env, p: "int", q: "int"}, depth)
        others, fothers = self.gen(kind, {**env, p: "int", q: "list"}, depth)
        return self.pick(
            [
                (f"((fn [{p} {q}] {body}) {a} {b})", lambda e: meaning({**e, p: fa(e), q: fb(e)})),
                (f"((fn [{p} & {{:keys [{q}] :or {{{q} 8}}}}] {body}) {a})", lambda e: meaning({**e, p: fa(e), q: 8})),
                (
                    f"((fn [{p} & {{:keys [{q}] :or {{{q} 8}}}}] {body}) {a} :{q} {b})",
                    lambda e: meaning({**e, p: fa(e), q: fb(e)}),
                ),
                (f"((fn [{p} & {q}] {others}) {a} {b})", lambda e: fothers({**e, p: fa(e), q: [fb(e)]})),
            ]
        )

    def form_closure(self, kind, env, depth):
        """A fn keeps what its names meant where it was made."""
        p, n, r, bound = self.pick(NAMES), self.pick(NAMES), self.pick(NAMES), self.kind()
        body, meaning = self.gen("int", {**env, p: "int"}, depth)
        value, fvalue = self.gen(bound, env, depth)
        arg, farg = self.gen("int", {**env, n: bound}, depth)
        rest, frest = self.gen(kind, {**env, n: bound, r: "int"}, depth)

        def run(e):
            inner = {**e, n: fvalue(e)}
            return frest({**inner, r: meaning({**e, p: farg(inner)})})

        return f"(let [fun (fn [{p}] {body}) {n} {value} {r} (fun {arg})] {rest})", run

    def form_sequence(self, kind, env, depth):
        (p, q), n = self.two_names(), self.pick(NAMES)
        (xs, fxs), (ys, fys), (a, fa) = (
            self.gen("list", env, depth),
            self.gen("list", env, depth),
            self.gen("int", env, depth),
        )
        one, fone = self.gen("int", {**env, p: "int"}, depth)
        two, ftwo = self.gen("int", {**env, p: "int", q: "int"}, depth)
        test, ftest = self.condition({**env, p: "int"}, depth)
        rest, frest = self.then(kind, env, depth, n, "list")

        def both(e):
            xs, ys = fxs(e), fys(e)
            return [ftwo({**e, p: x, q: y}) for x, y in zip(xs, ys)]

        def fold(e):
            acc = fa(e)
            for x in fxs(e):
                acc = ftwo({**e, p: acc, q: x})
            return [acc]

        text, value = self.pick(
            [
                (f"(map (fn [{p}] {one}) {xs})", lambda e: [fone({**e, p: x}) for x in fxs(e)]),
                (f"(map (fn [{p} {q}] {two}) {xs} {ys})", both),
                (f"(map (fn [[{p} {q}]] {two}) (zip {xs} {ys}))", both),
                (
                    f"(map (fn [g] (g 4)) (map (fn [{p}] (fn [{q}] {two})) {xs}))",
                    lambda e: [ftwo({**e, p: x, q: 4}) for x in fxs(e)],
                ),
                (f"(filter (fn [{p}] {test}) {xs})", lambda e: [x for x in fxs(e) if ftest({**e, p: x})]),
                (
                    f"(for [{p} {xs} :when {test}] {one})",
                    lambda e: [fone({**e, p: x}) for x in fxs(e) if ftest({**e, p: x})],
                ),
                (f"(list (reduce (fn [{p} {q}] {two}) {a} {xs}))", fold),
            ]
        )
        return f"(let [{n} {text}] {rest})", lambda e: frest({**e, n: value(e)})

    def program(self):
        lines, results = ["(def effects (atom (list)))", MACROS], []
        for k in range(self.random.randint(0, 2)):
            kinds, result = [self.kind() for _ in range(self.random.randint(1, 3))], self.kind()
            params = self.random.sample(NAMES, len(kinds))
            self.budget = 30
            body, meaning = self.gen(result, dict(zip(params, kinds)), 4)
            lines.append(f"(defn fun{k} [{' '.join(params)}] {body})")
            self.functions.append(
                (f"fun{k}", kinds, result, lambda vs, params=params, meaning=meaning: meaning(dict(zip(params, vs))))
            )
        for _ in range(2):
            self.budget = 60
            text, meaning = self.gen(self.pick([k for k in KINDS if k != "function"]), {}, 5)
            lines.append(f"(print (str (try {text} (catch err (get err :message)))))")
            try:
                results.append(shown(meaning({})))
            except Raised as r:
                results.append(r.args[0])
        return "\n".join(lines + ["(print (deref effects))"]), results + [shown(self.effects)]


def made(seed):
    return Programs(seed).program()


if __name__ == "__main__":
    main(made, operator.eq)
