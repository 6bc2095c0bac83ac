"""Writes jax.cases: derivatives of the functions whose other goldens come from libraries without them, or by
differences (segments, scatters, running combinations, rules by custom-jvp, special functions, factorizations, loops):
value, gradient by each input, second derivative, forward derivative and the gradient under vmap, in f32 and f64,
against JAX in double precision. Needs jax (0.10.2). Run by hand:
python3 test/lang/make_jax_cases.py > test/lang/jax.cases"""

import os

os.environ["JAX_ENABLE_X64"] = "1"
import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np

RNG = np.random.default_rng(35)
VALUE = {"f32": ":rtol 5e-5 :atol 5e-5", "f64": ":rtol 1e-11 :atol 1e-11"}
SECOND = {"f32": ":rtol 1e-3 :atol 1e-3", "f64": ":rtol 1e-9 :atol 1e-9"}


def text(x):
    x = np.asarray(x)
    return "[" + " ".join(text(v) for v in x) + "]" if x.ndim else repr(float(x))


def tensor(x, dtype):
    # A literal is f32, which holds the inputs exactly; expected values of f64 come as numbers written in two parts.
    return f"(cast {text(x)} :{dtype})"


def expected(x, dtype):
    x = np.asarray(x, np.float64)
    assert np.isfinite(x).all()
    if dtype == "f32":
        return text(x)
    high = x.astype(np.float32).astype(np.float64)
    return f"(+ (cast {text(high)} :f64) (cast {text(x - high)} :f64))"


def exact(*shape):
    """Values that f32 holds exactly, none of them zero or equal."""
    return np.floor(RNG.normal(size=shape) * 64) / 64 + RNG.integers(1, 64, shape) / 4096


def positive(*shape):
    return np.abs(exact(*shape)) + 0.5


def case(title, program, value, inputs, tolerance):
    """`program` has {0}, {1}, … for the inputs."""
    for dtype in ("f32", "f64"):
        code = program.format(*(tensor(x, dtype) for x in inputs))
        print(f"--- {title}, {dtype}\n(is-close {code}\n  {expected(value, dtype)} {tolerance[dtype]})\n=> true")


def check(title, program, f, *inputs, second=True, by=None):
    """`f` has the inputs of `program` as arguments; `by`: those that have a derivative."""
    inputs = [jnp.asarray(x) for x in inputs]
    case(title, program, f(*inputs), inputs, VALUE)
    n = len(inputs)
    for k in range(n) if by is None else by:
        # The same program with a variable for this input; further variables are the directions of the derivative.
        inner = program.format(*("a" if i == k else f"{{{i}}}" for i in range(n)))
        of = jax.jit(lambda a, k=k: f(*inputs[:k], a, *inputs[k + 1 :]))
        name = f"{title}, by input {k}" if n > 1 else title
        loss, code = jax.jit(lambda a: jnp.sin(of(a)).sum()), f"(fn [a] (sum (sin {inner})))"
        x = inputs[k]
        u = jnp.asarray(np.random.default_rng(k).integers(-8, 9, x.shape) / 8)
        many = jnp.stack([x, x + 0.125])
        gradient = jax.grad(loss)
        case(f"gradient of {name}", f"((grad {code}) {{{k}}})", gradient(x), inputs, VALUE)
        forward = f"(second (jvp (fn [a] {inner}) (list {{{k}}}) (list {{{n}}})))"
        case(f"forward derivative of {name}", forward, jax.jvp(of, (x,), (u,))[1], [*inputs, u], VALUE)
        all_of = f"((vmap (grad {code})) {{{n}}})"
        case(f"gradients of {name} under vmap", all_of, jax.vmap(gradient)(many), [*inputs, many], VALUE)
        if second:
            along = f"((grad (fn [a] (sum (* {{{n}}} ((grad {code}) a))))) {{{k}}})"
            value = jax.grad(lambda a: (u * gradient(a)).sum())(x)
            case(f"second derivative of {name}", along, value, [*inputs, u], SECOND)


def segments():
    ids, n = np.array([2, 0, 2, 4, 0, 1]), 5
    code = "(cast [2 0 2 4 0 1] :i32)"


    def product(x, ids, n):  # jax.ops.segment_prod has no derivative
        mine = ids == np.arange(n)[:, None]
        return jnp.prod(jnp.where(mine.reshape(n, -1, *[1] * (x.ndim - 1)), x, 1), axis=1)

    for name in ("sum", "prod", "max", "min"):
        f = product if name == "prod" else getattr(jax.ops, f"segment_{name}")
        finite = lambda x, f=f: (lambda y: jnp.where(jnp.isinf(y), 0.0, y))(f(x, ids, n))
        program = f"(let [y (segment-{name} {{0}} {code} :num-segments {n})] (where (isinf y) 0 y))"
        check(f"segment-{name} of numbers", program, finite, exact(6))
        check(f"segment-{name} of rows", program, finite, exact(6, 2))
    counts = lambda x: jax.ops.segment_sum(jnp.ones(6), ids, n)
    mean = lambda x: jax.ops.segment_sum(x, ids, n) / jnp.maximum(counts(x), 1)
    check("segment-mean", f"(segment-mean {{0}} {code} :num-segments {n})", mean, exact(6))

    def softmax(x):
        e = jnp.exp(x - jax.ops.segment_max(x, ids, n)[ids])
        return e / jax.ops.segment_sum(e, ids, n)[ids]

    check("segment-softmax", f"(segment-softmax {{0}} {code} :num-segments {n})", softmax, exact(6))


def scatters():
    at, code = np.array([3, 0, 2]), "(cast [3 0 2] :i32)"
    twice, code_twice = np.array([3, 0, 3]), "(cast [3 0 3] :i32)"
    for name in ("add", "mul", "max", "min"):
        f = lambda x, v, name=name: getattr(x.at[at], name)(v, unique_indices=True)
        check(f"scatter-{name}", f"(scatter-{name} {{0}} {code} {{1}})", f, exact(5), exact(3))
    check("scatter-add to a place twice", f"(scatter-add {{0}} {code_twice} {{1}})",
          lambda x, v: x.at[twice].add(v), exact(5), exact(3))
    check("scatter-max to a place twice", f"(scatter-max {{0}} {code_twice} {{1}})",
          lambda x, v: x.at[twice].max(v), exact(5), exact(3))
    check("take-along an axis", "(take-along-axis {0} (cast [[1 0] [2 2]] :i32) 1)",
          lambda x: jnp.take_along_axis(x, np.array([[1, 0], [2, 2]]), 1), exact(2, 3))


def rules():
    @jax.custom_jvp
    def log1pexp(x):
        return jnp.log1p(jnp.exp(x))

    # Not the derivative, so that it shows which one is used.
    @log1pexp.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return log1pexp(x), 3 * jax.nn.sigmoid(x) * t

    check("custom-jvp", "((custom-jvp (fn [x] (log (+ 1 (exp x)))) (fn [[x] [t]] (* 3 (sigmoid x) t))) {0})", log1pexp,
          exact(4))

    @jax.custom_jvp
    def mixed(x, y):
        return x * jnp.sin(y)

    @mixed.defjvp
    def _(primals, tangents):
        (x, y), (s, t) = primals, tangents
        return mixed(x, y), s * jnp.cos(y) + t * x * x

    check("custom-jvp of two",
          "((custom-jvp (fn [x y] (* x (sin y))) (fn [[x y] [s t]] (+ (* s (cos y)) (* t x x)))) {0} {1})",
          mixed, exact(3), exact(3))
    inside = lambda x, y: jnp.exp(0.5 * mixed(jnp.tanh(x), y * y)).sum(0)
    check("custom-jvp inside others",
          "(sum (exp (* 0.5 ((custom-jvp (fn [x y] (* x (sin y))) (fn [[x y] [s t]] (+ (* s (cos y)) (* t x x)))) "
          "(tanh {0}) (* {1} {1})))) :axis 0)", inside, exact(3, 2), exact(3, 2))


def running():
    product = lambda a, b: jnp.einsum("nij,njk->nik", a, b)
    for reverse in (False, True):
        f = lambda x, r=reverse: jax.lax.associative_scan(product, x, reverse=r)
        check(f"associative-scan of matrices{', from the end' * reverse}",
              f"(associative-scan (fn [a b] (@ a b)) {{0}} :reverse {str(reverse).lower()})", f, 0.5 * exact(5, 2, 2))
    linear = lambda x, y: (x[0] * y[0], y[1] + y[0] * x[1])
    code = '(fn [x y] (dict "a" (* (:a x) (:a y)) "b" (+ (:b y) (* (:a y) (:b x)))))'
    check("associative-scan of a recurrence", f'(:b (associative-scan {code} (dict "a" {{0}} "b" {{1}})))',
          lambda a, b: jax.lax.associative_scan(linear, (a, b))[1], exact(7), exact(7))
    for name, f in (("cumsum", jnp.cumsum), ("cumprod", jnp.cumprod), ("cummax", jax.lax.cummax),
                    ("cummin", jax.lax.cummin), ("logcumsumexp", jax.lax.cumlogsumexp)):
        check(name, f"({name} {{0}} :axis 1)", lambda x, f=f: f(x, axis=1), exact(2, 5))
    zeros = exact(6)
    zeros[2] = 0
    check("cumprod with a zero", "(cumprod {0})", jnp.cumprod, zeros)
    loop = lambda c, xs: jax.lax.scan(lambda c, x: (jnp.tanh(c * x + 0.5), c), c, xs)
    check("scan, the end", "(first (scan (fn [c x] (list (tanh (+ (* c x) 0.5)) c)) {0} {1} :stack))",
          lambda c, xs: loop(c, xs)[0], exact(2), exact(4, 2))
    check("scan, the steps", "(second (scan (fn [c x] (list (tanh (+ (* c x) 0.5)) c)) {0} {1} :stack))",
          lambda c, xs: loop(c, xs)[1], exact(2), exact(4, 2))


def elements():
    for name, f in (("lgamma", jsp.special.gammaln), ("digamma", jsp.special.digamma), ("i0", jsp.special.i0),
                    ("i1", jsp.special.i1), ("erfinv", lambda x: jsp.special.erfinv(x))):
        x = positive(4) if name != "erfinv" else 0.4 * np.tanh(exact(4)).round(2)
        check(name, f"({name} {{0}})", f, np.float32(x).astype(np.float64))
    check("polygamma", "(polygamma 2 {0})", lambda x: jsp.special.polygamma(2, x), positive(4))
    check("igamma", "(igamma 1.5 {0})", lambda x: jsp.special.gammainc(1.5, x), positive(4))
    check("igammac", "(igammac 2.5 {0})", lambda x: jsp.special.gammaincc(2.5, x), positive(4))
    check("logaddexp", "(logaddexp {0} {1})", jnp.logaddexp, exact(4), exact(4))
    check("xlogy", "(xlogy {0} {1})", jsp.special.xlogy, exact(4), positive(4))
    check("sinc", "(sinc {0})", jnp.sinc, exact(4))
    check("interp", "(interp {0} {1} {2})", jnp.interp, np.array([0.25, 1.5, 2.75]), np.array([0.0, 1.0, 2.0, 3.0]),
          exact(4), second=False, by=[0, 2])


def factorizations():
    symmetric = lambda a: (a + a.T) / 2
    base = exact(3, 3) + 3 * np.eye(3)
    spd = lambda a: a @ a.T + jnp.eye(3)
    check("cholesky", "(cholesky (+ (@ {0} (tr {0})) (eye 3)))", lambda a: jnp.linalg.cholesky(spd(a)), base)
    check("inv", "(inv {0})", jnp.linalg.inv, base)
    check("slogdet", "(second (slogdet {0}))", lambda a: jnp.linalg.slogdet(a)[1], base)
    check("solve", "(solve {0} {1})", jnp.linalg.solve, base, exact(3, 2))
    check("expm", "(expm {0})", jsp.linalg.expm, 0.5 * exact(3, 3))
    check("eigenvalues", "(first (eigh (* 0.5 (+ {0} (tr {0})))))", lambda a: jnp.linalg.eigh(symmetric(a))[0], base)
    check("singular values", "(svdvals {0})", lambda a: jnp.linalg.svd(a, compute_uv=False), exact(4, 3))
    check("qr", "(abs (second (qr {0})))", lambda a: jnp.abs(jnp.linalg.qr(a)[1]), exact(4, 3))
    check("pinv", "(pinv {0})", jnp.linalg.pinv, exact(4, 3))


print(";;; Made by make_jax_cases.py; do not edit.")
segments()
scatters()
rules()
running()
elements()
factorizations()
