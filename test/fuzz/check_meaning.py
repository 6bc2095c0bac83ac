"""Random programs whose result is known: every form is made together with a Python function that says what it means, so a
fault that all modes of the program share is found too (which values are still needed, scopes, the order of effects).

Usage: python check_meaning.py PATH-OF-SHEAF [FIRST-SEED [LAST-SEED [FLAG …]]]    e.g. … build/sheaf 0 1000 --jit=always
Prints the programs whose output differs; the exit status is 1 if there are any.
"""
import operator
import random
import subprocess
import sys
import tempfile

NAMES = "a b c d p q u w".split()  # few, so that they shadow each other
KINDS = ["int", "int", "int", "list", "dict", "tensor"]
MAX_EFFECTS = 3000


class TooLong(Exception):
    """The program runs long; another is as good."""


class Raised(Exception):
    """(error …) was called."""


def shown(v):
    if isinstance(v, dict):
        return "{" + ", ".join(f":{k} {v[k]}" for k in sorted(v)) + "}"
    if isinstance(v, tuple):  # a tensor
        texts = [f"{x}." for x in v]
        return "[" + " ".join(t.rjust(max(map(len, texts))) for t in texts) + "]"
    return "[" + ", ".join(map(str, v)) + "]" if isinstance(v, list) else str(v)


class Programs:
    """gen(kind, env, depth) gives (text, meaning); env maps visible names to kinds, a meaning maps {name: value} to a value.
    Values: int, list of ints, dict with x and y, tensor of two as a tuple. None is ever changed in place."""

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
        form = self.primitive if self.random.random() < 0.15 else self.pick(self.forms)
        text, meaning = form(kind, env, depth - 1)
        if self.random.random() >= 0.15:
            return text, meaning
        n = self.number()

        def with_effect(e):
            self.effects.append(n)
            if len(self.effects) > MAX_EFFECTS:
                raise TooLong
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
        return f"[{x} {y}]", lambda e: (x, y)

    def condition(self, env, depth):
        (a, fa), (b, fb) = self.gen("int", env, depth), self.gen("int", env, depth)
        name, op = self.pick([("<", operator.lt), (">", operator.gt), ("<=", operator.le), (">=", operator.ge), ("=", operator.eq)])
        return f"({name} {a} {b})", lambda e: op(fa(e), fb(e))

    def then(self, kind, env, depth, name, bound):
        """The form that goes on with `name` bound to something of the kind `bound`."""
        return self.gen(kind, {**env, name: bound}, depth)

    # Functions of the language

    def primitive(self, kind, env, depth):
        arg = lambda k: self.gen(k, env, depth)
        i = self.random.randint(0, 1)
        if kind == "int":
            (a, fa), (b, fb), (xs, fxs), (d, fd), (t, ft) = arg("int"), arg("int"), arg("list"), arg("dict"), arg("tensor")
            return self.pick([
                (f"(+ {a} {b})", lambda e: fa(e) + fb(e)),
                (f"(- {a} {b})", lambda e: fa(e) - fb(e)),
                (f"(mod (* {a} {b}) 97)", lambda e: fa(e) * fb(e) % 97),
                (f"(-> {a} (- {b}) (mod 7))", lambda e: (fa(e) - fb(e)) % 7),
                (f"(len {xs})", lambda e: len(fxs(e))),
                (f"(reduce + 0 {xs})", lambda e: sum(fxs(e))),
                (f"(get {d} :y)", lambda e: fd(e)["y"]),
                (f"(int (sum {t}))", lambda e: sum(ft(e))),
                (f"(int (get {t} {i}))", lambda e: ft(e)[i]),
            ])
        if kind == "list":
            (a, fa), (b, fb), (xs, fxs), (ys, fys), (d, fd) = arg("int"), arg("int"), arg("list"), arg("list"), arg("dict")
            return self.pick([
                (f"(append {xs} {a})", lambda e: fxs(e) + [fa(e)]),
                (f"(take 5 (cons {a} {xs}))", lambda e: ([fa(e)] + fxs(e))[:5]),
                (f"(list {a} {b})", lambda e: [fa(e), fb(e)]),
                (f"(take 5 (concat {xs} {ys}))", lambda e: (fxs(e) + fys(e))[:5]),
                (f"(vals {d})", lambda e: [v for _, v in sorted(fd(e).items())]),
                (f"(flip {xs})", lambda e: fxs(e)[::-1]),
            ])
        if kind == "dict":
            (a, fa), (b, fb), (d, fd) = arg("int"), arg("int"), arg("dict")
            return self.pick([
                (f"(assoc {d} :x {a})", lambda e: {**fd(e), "x": fa(e)}),
                (f"{{:x {a} :y {b}}}", lambda e: {"x": fa(e), "y": fb(e)}),
                (f"(merge {d} {{:y {a}}})", lambda e: {**fd(e), "y": fa(e)}),
            ])
        put = lambda t, v: (v % 50, t[1]) if i == 0 else (t[0], v % 50)
        (a, fa), (t, ft), (s, fs) = arg("int"), arg("tensor"), arg("tensor")
        return self.pick([
            (f"(index-update {t} {i} (mod {a} 50))", lambda e: put(ft(e), fa(e))),
            (f"(at-set {t} (mod {a} 50) {i})", lambda e: put(ft(e), fa(e))),
            (f"(mod (+ {t} {s}) 50)", lambda e: tuple((x + y) % 50 for x, y in zip(ft(e), fs(e)))),
            (f"(relu {t})", lambda e: tuple(max(x, 0) for x in ft(e))),
            (f"(flip {t})", lambda e: ft(e)[::-1]),
        ])

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
        return f"(let [fields {{:fx {a} :fy {b}}}] (with-params [fields] {body}))", lambda e: meaning({**e, "fx": fa(e), "fy": fb(e)})

    # Forms that choose

    def form_if(self, kind, env, depth):
        (c, fc), (d, fd) = self.condition(env, depth), self.condition(env, depth)
        (x, fx), (y, fy), (z, fz) = (self.gen(kind, env, depth) for _ in range(3))
        return self.pick([
            (f"(if {c} {x} {y})", lambda e: fx(e) if fc(e) else fy(e)),
            (f"(cond {c} {x} {d} {y} :else {z})", lambda e: fx(e) if fc(e) else fy(e) if fd(e) else fz(e)),
            (f"(if (and {c} {d}) {x} {y})", lambda e: fx(e) if fc(e) and fd(e) else fy(e)),
            (f"(if (or {c} {d}) {x} {y})", lambda e: fx(e) if fc(e) or fd(e) else fy(e)),
            (f"(do {x} {y})", lambda e: (fx(e), fy(e))[1]),
        ])

    def form_case(self, kind, env, depth):
        a, fa = self.gen("int", env, depth)
        (x, fx), (y, fy) = self.gen(kind, env, depth), self.gen(kind, env, depth)
        k = self.random.randint(-2, 5)
        return f"(case {a} {k} {x} {y})", lambda e: fx(e) if fa(e) == k else fy(e)

    def form_try(self, kind, env, depth):
        (c, fc), (x, fx), (y, fy) = self.condition(env, depth), self.gen(kind, env, depth), self.gen(kind, env, depth)

        def run(e):
            try:
                if fc(e):
                    raise Raised
                return fx(e)
            except Raised:
                return fy(e)

        return f'(try (do (when {c} (error "x")) {x}) (catch err {y}))', run

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

        loop = self.pick([
            f"(repeat [i {turns}] [{n} {init}] {body})",
            f"(second (while (< (first st) {turns}) [st (list 0 {init})] (let [[i {n}] st] (list (+ i 1) {body}))))",
        ])
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
        return self.pick([
            (f"((fn [{p} {q}] {body}) {a} {b})", lambda e: meaning({**e, p: fa(e), q: fb(e)})),
            (f"((fn [{p} & {{:keys [{q}] :or {{{q} 8}}}}] {body}) {a})", lambda e: meaning({**e, p: fa(e), q: 8})),
            (f"((fn [{p} & {{:keys [{q}] :or {{{q} 8}}}}] {body}) {a} :{q} {b})", lambda e: meaning({**e, p: fa(e), q: fb(e)})),
            (f"((fn [{p} & {q}] {others}) {a} {b})", lambda e: fothers({**e, p: fa(e), q: [fb(e)]})),
        ])

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
        (xs, fxs), (ys, fys), (a, fa) = self.gen("list", env, depth), self.gen("list", env, depth), self.gen("int", env, depth)
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

        text, value = self.pick([
            (f"(map (fn [{p}] {one}) {xs})", lambda e: [fone({**e, p: x}) for x in fxs(e)]),
            (f"(map (fn [{p} {q}] {two}) {xs} {ys})", both),
            (f"(map (fn [[{p} {q}]] {two}) (zip {xs} {ys}))", both),
            (f"(map (fn [g] (g 4)) (map (fn [{p}] (fn [{q}] {two})) {xs}))", lambda e: [ftwo({**e, p: x, q: 4}) for x in fxs(e)]),
            (f"(filter (fn [{p}] {test}) {xs})", lambda e: [x for x in fxs(e) if ftest({**e, p: x})]),
            (f"(for [{p} {xs} :when {test}] {one})", lambda e: [fone({**e, p: x}) for x in fxs(e) if ftest({**e, p: x})]),
            (f"(list (reduce (fn [{p} {q}] {two}) {a} {xs}))", fold),
        ])
        return f"(let [{n} {text}] {rest})", lambda e: frest({**e, n: value(e)})

    def program(self):
        lines, results = ["(def effects (atom (list)))"], []
        for k in range(self.random.randint(0, 2)):
            kinds, result = [self.kind() for _ in range(self.random.randint(1, 3))], self.kind()
            params = self.random.sample(NAMES, len(kinds))
            self.budget = 30
            body, meaning = self.gen(result, dict(zip(params, kinds)), 4)
            lines.append(f"(defn fun{k} [{' '.join(params)}] {body})")
            self.functions.append((f"fun{k}", kinds, result, lambda vs, params=params, meaning=meaning: meaning(dict(zip(params, vs)))))
        for _ in range(2):
            self.budget = 60
            text, meaning = self.gen(self.kind(), {}, 5)
            lines.append(f"(print (str {text}))")
            results.append(shown(meaning({})))
        return "\n".join(lines + ["(print (deref effects))"]), results + [shown(self.effects)]


def main(sheaf, first=0, last=1000, *flags):
    failures = 0
    with tempfile.NamedTemporaryFile("w", suffix=".shf") as file:
        for seed in range(int(first), int(last)):
            try:
                text, expected = Programs(seed).program()
            except TooLong:
                continue
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            done = subprocess.run([sheaf, *flags, file.name], capture_output=True, text=True)
            if done.returncode or done.stdout.splitlines() != expected:
                failures += 1
                print(f"seed {seed}: expected {expected}, got {done.stdout.splitlines()}\n{done.stderr}{text}\n")
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
