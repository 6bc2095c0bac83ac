"""Writes complex.cases: c64 against JAX in complex128: values, vmap, first and second derivatives, jvp and vjp.

    python3 make_complex_cases.py     (needs numpy, jax)

Parts of a result are compared one by one; an error is relative to the whole number, hence the absolute tolerance.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np
from golden_cases import Cases, literal

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_threefry_partitionable", True)
np.seterr(all="ignore")
out = Cases(__file__.replace("make_complex_cases.py", "complex.cases"), "make_complex_cases.py")


def program(x):
    x = np.asarray(x)
    if x.size == 0:
        return f"(zeros '[{' '.join(map(str, x.shape))}]" + (" :dtype :c64)" if np.iscomplexobj(x) else ")")
    return f"(complex {literal(x.real)} {literal(x.imag)})" if np.iscomplexobj(x) else literal(x)


def value(title, code, want):
    want = np.asarray(want)
    if np.iscomplexobj(want):
        code, want = f"(as-pair {code})", np.stack([want.real, want.imag], -1)
    out.value(title, code, want.astype(np.float64) if want.dtype.kind == "f" else want)


def weights(rng, shape):
    return rng.integers(-8, 9, shape) / 4, rng.integers(-8, 9, shape) / 4


def weighted(code, a, b):
    return f"(sum (+ (* {literal(a)} (real {code})) (* {literal(b)} (imag {code}))))"


def function(title, code, f, *args, derivatives=2, vmap=True):
    """code is an expression in x (and y), f the same for jax.numpy."""
    args = [np.asarray(a) for a in args]
    names = ["x", "y", "w"][: len(args)]
    params = " ".join(names)
    passed = " ".join(program(a) for a in args)
    value(title, f"((fn [{params}] {code}) {passed})", f(*args))
    if vmap:
        many = [np.stack([a, a + 0.25]) for a in args]
        want = np.stack([np.asarray(f(*(a[i] for a in many))) for i in range(2)])
        value(f"{title}, vmap", f"((vmap (fn [{params}] {code})) {' '.join(program(a) for a in many)})", want)
    if derivatives == 0:
        return
    rng = np.random.default_rng(1)
    y = np.asarray(f(*args))
    a, b = weights(rng, y.shape)
    loss = lambda *v: jnp.sum(a * jnp.real(f(*v)) + b * jnp.imag(f(*v)))
    numbers = list(range(len(args)))
    grads = jax.grad(loss, numbers)(*[jnp.asarray(v) for v in args])
    text = f"(fn [{params}] {weighted(code, a, b)})"
    for k, g in enumerate(grads):
        value(f"{title}, gradient {k}", f"((grad {text} :argnums {k}) {passed})", g)
    if derivatives > 1:
        u, v = weights(rng, args[0].shape)
        inner = jax.grad(loss)
        second = jax.grad(lambda *z: jnp.sum(u * jnp.real(inner(*z)) + v * jnp.imag(inner(*z))))
        again = weighted(f"((grad {text}) {params})", u, v)
        out.raw(";;; tolerance 2e-5 2e-5")
        value(f"{title}, second derivative", f"((grad (fn [{params}] {again})) {passed})", second(*args))
        out.raw(TOLERANCE)


TOLERANCE = ";;; tolerance 2e-6 2e-6"
out.raw(TOLERANCE)
z = np.array([[0.5 + 1.25j, -1.75 + 0.25j, 0.75 - 2j], [-0.5 - 0.75j, 1.5 + 0j, 0.25 + 2.5j]])
w = np.array([[1.5 - 0.5j, 0.25 + 0.75j, -1.25 + 0.5j], [2 + 1j, -0.5 - 0.25j, 1 - 1.5j]])
v, r = np.array([0.5 - 1j, 2 + 0.75j, -1.25 + 0.25j]), np.array([[0.5, -1.5, 2], [1.25, 0.75, -2]])

for name, f in [("+", jnp.add), ("-", jnp.subtract), ("*", jnp.multiply), ("/", jnp.divide)]:
    function(f"{name} of complex numbers", f"({name} x y)", f, z, w)
    function(f"{name}, broadcast", f"({name} x y)", f, z, v, derivatives=1, vmap=False)
    function(f"{name} of complex and real numbers", f"({name} x y)", f, z, r, derivatives=1)
    function(f"{name} of real and complex numbers", f"({name} x y)", f, r, z, derivatives=1)
    function(f"{name} with a number", f"({name} x 1.5)", lambda x: f(x, 1.5), z[0], derivatives=1)
    function(f"{name} of a number", f"({name} 3 x)", lambda x: f(3, x), z[0], derivatives=1)
    function(f"{name} of single numbers", f"({name} x y)", f, z[0, 0], w[0, 0])
    function(f"{name} of nothing", f"({name} x y)", f, z[:0], w[:0], derivatives=0, vmap=False)
function("a quotient by what is imaginary", "(/ x y)", jnp.divide, z[0], 1j * np.array([2.0, -0.5, 4]))
function("negation", "(- x)", jnp.negative, z)
function("square", "(square x)", jnp.square, z)
function("cube", "(** x 3)", lambda x: x**3, z)
function("a power", "(** x y)", jnp.power, z[0], w[0])
function("a real power", "(** x 2.5)", lambda x: x**2.5, z)
function("a power of a number", "(** 2 x)", lambda x: jnp.power(2.0, x), z)
for name, f in [("exp", jnp.exp), ("log", jnp.log), ("sqrt", jnp.sqrt), ("sin", jnp.sin), ("cos", jnp.cos),
                ("tan", jnp.tan), ("sinh", jnp.sinh), ("cosh", jnp.cosh), ("tanh", jnp.tanh), ("abs", jnp.abs),
                ("real", jnp.real), ("imag", jnp.imag), ("conj", jnp.conj), ("angle", jnp.angle),
                ("sign", lambda x: x / jnp.abs(x))]:
    function(name, f"({name} x)", f, z, derivatives=1 if name in ("real", "imag", "conj") else 2)
    function(f"{name} of one number", f"({name} x)", f, z[1, 2], derivatives=1)
for name in ("log", "sqrt"):
    cut = [complex(-4, 0.0), complex(-4, -0.0), complex(0.25, -0.0), complex(-1e-30, 1e-30), complex(1e30, -1e30)]
    function(f"{name} at the branch cut", f"({name} x)", getattr(np, name), cut, derivatives=0, vmap=False)
near = np.float32([1, 0.6, 0.8]) + 1j * np.float32([1e-9, 0.8, -0.6]).astype(np.float64)
value("log near 1", "(log (complex [1 0.6 0.8] [1e-9 0.8 -0.6]))", np.log(near))
for name in ("log2", "log10"):
    function(name, f"({name} x)", lambda x: jnp.log(x) / np.log(float(name[3:])), z, derivatives=1)
big = np.array([80 + 3j, -300 + 1j, 0.5 + 95j, 0.5 - 300j, 3 + 0j])
for name in ("tanh", "tan"):
    function(f"{name} of large numbers", f"({name} x)", getattr(np, name), big, derivatives=0, vmap=False)
huge = np.array([3e38 + 1e38j, 1e-38 + 2e-38j, 0j, 2e20 - 3e20j, 1e-44 + 3e-44j])
function("abs of extremes", "(abs x)", np.abs, huge, derivatives=0, vmap=False)
huge = np.array([2e38 + 1e38j, 1e-38 + 2e-38j, 0j, 2e20 - 3e20j])
value("a quotient of extremes", f"(/ {program(huge)} (complex [2e38 1e-38 1 1e20] [1e38 3e-38 1 4e20]))",
      huge / np.array([2e38 + 1e38j, 1e-38 + 3e-38j, 1 + 1j, 1e20 + 4e20j]))

for name, f in [("sum", jnp.sum), ("mean", jnp.mean), ("product", jnp.prod)]:
    function(f"{name} of all", f"({name} x)", f, z)
    for axis in (0, 1):
        function(f"{name} along axis {axis}", f"({name} x :axis {axis})", lambda x: f(x, axis=axis), z)
    if name != "product":
        kept = lambda x: f(x, axis=1, keepdims=True)
        function(f"{name} with axes kept", f"({name} x :axis 1 :keepdims)", kept, z, derivatives=0)
function("product of none", "(product x :axis 0)", lambda x: jnp.prod(x, axis=0), z[:0], derivatives=0, vmap=False)
function("product with zeros", "(product x)", jnp.prod, np.array([0j, 2 + 1j, 0.5 - 1j, 3j, 1 + 1j]), vmap=False)
norm = lambda x, axis=None: jnp.sqrt(jnp.sum(jnp.abs(x) ** 2, axis=axis))
for name, f in [("var", jnp.var), ("std", jnp.std), ("norm", norm)]:
    function(name, f"({name} x)", f, z, derivatives=1)
    function(f"{name} along an axis", f"({name} x :axis 1)", lambda x: f(x, axis=1), z, derivatives=1)
function("var with ddof", "(var x :axis 1 :ddof 1)", lambda x: jnp.var(x, axis=1, ddof=1), z, derivatives=1)
function("norm of order 1", "(norm x :ord 1)", lambda x: jnp.sum(jnp.abs(x)), z, derivatives=1)
for name, f in [("cumsum", jnp.cumsum), ("cumprod", jnp.cumprod)]:
    function(name, f"({name} x)", f, v)
    for axis in (0, 1):
        function(f"{name} along axis {axis}", f"({name} x :axis {axis})", lambda x: f(x, axis=axis), z, derivatives=1)

m = np.array([[1 - 1j, 0.5j], [2 + 0.25j, -1 + 0j], [0.75 - 0.5j, 1.5 + 1j]])
function("@ of matrices", "(@ x y)", jnp.matmul, z, m)
function("@ of a matrix and a vector", "(@ x y)", jnp.matmul, z, v)
function("@ of vectors", "(@ x y)", jnp.matmul, v, v[::-1].copy())
function("@ of complex and real", "(@ x y)", jnp.matmul, z, r.T.copy(), derivatives=1)
function("@ in batches", "(@ x y)", jnp.matmul, np.stack([z, w]), np.stack([m, 1j * m]), derivatives=1)
function("einsum", '(einsum "ij,kj->ik" x y)', lambda x, y: jnp.einsum("ij,kj->ik", x, y), z, w, derivatives=1)
function("outer", "(outer x y)", jnp.outer, v, z[0], derivatives=1)
function("kron", "(kron x y)", jnp.kron, z, m, derivatives=0, vmap=False)

for name, code, f in [
    ("reshape", "(reshape x '[3 2])", lambda x: x.reshape(3, 2)),
    ("transpose", "(transpose x)", lambda x: x.T),
    ("slice", "(slice x 1 3 :axis 1)", lambda x: x[:, 1:3]),
    ("get", "(get x 1)", lambda x: x[1]),
    ("at", "(at x 0 [2 1])", lambda x: x[0, np.array([2, 1])]),
    ("at-set", "(at-set x (complex 1 2) 0 1)", lambda x: jnp.asarray(x).at[0, 1].set(1 + 2j)),
    ("concat", "(concat x (* 2 x))", lambda x: jnp.concatenate([x, 2 * x])),
    ("stack", "(stack (list x (conj x)))", lambda x: jnp.stack([x, jnp.conj(x)])),
    ("pad", "(pad x '[[1 0] [0 2]])", lambda x: jnp.pad(x, [(1, 0), (0, 2)])),
    ("flip", "(flip x :axis 1)", lambda x: jnp.flip(x, 1)),
    ("roll", "(roll x 1 :axis 1)", lambda x: jnp.roll(x, 1, 1)),
    ("where", "(where [[1 0 1] [0 1 1]] x (- x))",
     lambda x: jnp.where(np.array([[1, 0, 1], [0, 1, 1]], bool), x, -x)),
    ("broadcast", "(broadcast-to (get x 0) '[2 3])", lambda x: jnp.broadcast_to(x[0], (2, 3))),
    ("tile", "(tile x 2)", lambda x: jnp.tile(x, 2)),
    ("repeat", "(repeat-elements x 2 :axis 0)", lambda x: jnp.repeat(x, 2, 0)),
    ("diff", "(diff x)", jnp.diff),
    ("trace", "(trace x)", jnp.trace),
    ("tril", "(tril x)", jnp.tril),
]:
    function(name, code, f, z, derivatives=2 if name in ("slice", "at", "at-set", "where") else 1)
scatter = lambda x, y: jnp.asarray(x).at[np.array([2, 0, 2])].add(y)
function("scatter-add", "(scatter-add x [2 0 2] y)", scatter, v, z[0], derivatives=1)

for name, f in [("fft", jnp.fft.fft), ("ifft", jnp.fft.ifft)]:
    function(name, f"({name} x)", f, z)
    function(f"{name} along axis 0, resized", f"({name} x :axis 0 :n 3)", lambda x: f(x, axis=0, n=3), z, derivatives=1)
for name in ("fft2", "ifft2", "fftn", "ifftn"):
    function(name, f"({name} x)", getattr(jnp.fft, name), z, derivatives=1)
function("irfft of c64", "(irfft x :n 5)", lambda x: jnp.fft.irfft(x, n=5), v, derivatives=0)

# Functions of the program around all that.
function("a real function of a complex one", "(sum (square (abs (- (exp (* x y)) 1))))",
         lambda x, y: jnp.sum(jnp.abs(jnp.exp(x * y) - 1) ** 2), z, w)
function("a real argument inside", "(abs (exp (complex 0 x)))", lambda x: jnp.abs(jnp.exp(1j * x)), r)
step = lambda s, a: ((n := s * (0.5 + 0.25j) + a), n * n)
function("a scan with a complex carry",
         "(second (scan (fn [s a] (let [n (+ (* s (complex 0.5 0.25)) a)] (list n (* n n)))) (complex 1 0) x :stack))",
         lambda x: jax.lax.scan(step, 1 + 0j, jnp.asarray(x))[1], v, vmap=False)
function("checkpoint", "((checkpoint (fn [x] (exp (* x x)))) x)", lambda x: jnp.exp(x * x), z, derivatives=1,
         vmap=False)

t = np.array([0.25 + 1j, -0.5j, 1.5 - 0.25j])
f = lambda x: jnp.exp(x) * jnp.conj(x)
y, dy = jax.jvp(f, (jnp.asarray(v),), (jnp.asarray(t),))
value("jvp", f"(second (jvp (fn [x] (* (exp x) (conj x))) {program(v)} {program(t)}))", dy)
pulled = jax.vjp(f, jnp.asarray(v))[1](jnp.asarray(t))[0]
value("vjp", f"(first ((second (vjp (fn [x] (* (exp x) (conj x))) {program(v)})) {program(t)}))", pulled)
for seed in (0, 7):
    value(f"random-normal, seed {seed}", f"(random-normal (random-key {seed}) [3] :dtype :c64)",
          jax.random.normal(jax.random.PRNGKey(seed), (3,), jnp.complex64).astype(jnp.complex128))
