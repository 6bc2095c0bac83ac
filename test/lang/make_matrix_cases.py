"""Writes matrices.cases: what lib/linalg.shf and lib/matrices.shf have beyond the factorizations of
linalg_library.cases, values and gradients, against NumPy, SciPy and PyTorch in double precision, for f32 and f64. Needs
numpy, scipy and torch. Run by hand: python3 test/lang/make_matrix_cases.py > test/lang/matrices.cases"""

import numpy as np
import scipy.linalg
import torch

torch.set_default_dtype(torch.float64)
RNG = np.random.default_rng(5)
L = torch.linalg
TOLERANCE = {"f32": ":rtol 5e-5 :atol 5e-5", "f64": ":rtol 1e-11 :atol 1e-11"}


def text(x):
    x = np.asarray(x)
    return "[" + " ".join(text(v) for v in x) + "]" if x.ndim else repr(float(x))


def exact(*shape):
    """Values that f32 holds exactly, none of them zero."""
    return np.floor(RNG.normal(size=shape) * 64) / 64 + 1 / 128


def tensor(x, dtype):
    # A literal is f32, which holds the inputs exactly; expected values of f64 come as numbers written in two parts.
    return f"(cast {text(x)} :{dtype})"


def expected(x, dtype):
    if dtype == "f32":
        return text(x)
    high = np.asarray(x, np.float64).astype(np.float32).astype(np.float64)
    return f"(+ (cast {text(high)} :f64) (cast {text(np.asarray(x, np.float64) - high)} :f64))"


def case(title, program, value, *inputs):
    """`program` has {0}, {1}, … for the inputs."""
    for d in ("f32", "f64"):
        code = program.format(*(tensor(x, d) for x in inputs))
        print(f"--- {title}, {d}\n(is-close {code}\n  {expected(value, d)} {TOLERANCE[d]})\n=> true")


def gradient(f, x):
    t = torch.tensor(x, requires_grad=True)
    f(t).backward()
    return t.grad.numpy()


def both(title, program, f, *inputs):
    """The value, and the gradient by the first input of the sum of sines."""
    arguments = [torch.tensor(x) for x in inputs]
    case(title, program, f(*arguments).numpy(), *inputs)
    if inputs[0].size:
        rest = [f"{{{i}}}" for i in range(1, len(inputs))]
        inner = program.format("a", *rest)
        case(
            f"gradient of {title}",
            f"((grad (fn [a] (sum (sin {inner})))) {{0}})",
            gradient(lambda t: f(t, *arguments[1:]).sin().sum(), inputs[0]),
            *inputs,
        )


def well(*shape):
    return exact(*shape) + 3 * np.eye(shape[-1])


print(";;; Made by make_matrix_cases.py; do not edit.")
for n in (1, 4):
    a, b, v = well(n, n), exact(n, 2), exact(n)
    for upper in (False, True):
        for transposed in (False, True):
            for unit in (False, True):
                flags = {":upper": upper, ":transposed": transposed, ":unit": unit}
                options = "".join(f" {name} true" for name, on in flags.items() if on)

                def solved(t, y, upper=upper, transposed=transposed, unit=unit):
                    t = t.mT if transposed else t
                    return L.solve_triangular(t, y, upper=upper != transposed, unitriangular=unit)

                both(f"solve-triangular{options} {n}", "(solve-triangular {0} {1}" + options + ")", solved, a, b)
    case(
        f"solve-triangular by a vector {n}",
        "(solve-triangular {0} {1})",
        scipy.linalg.solve_triangular(a, v, lower=True),
        a,
        v,
    )
    both(f"slogdet, its size {n}", "(second (slogdet {0}))", lambda t: L.slogdet(t)[1], a)
    case(f"slogdet, its sign {n}", "(first (slogdet {0}))", np.linalg.slogdet(-a)[0], -a)
    both(f"eigvalsh {n}", "(eigvalsh (+ {0} (tr {0})))", lambda t: L.eigvalsh(t + t.mT), a)
    both(f"expm {n}", "(expm {0})", torch.matrix_exp, exact(n, n))
    both(f"matrix-power 5 {n}", "(matrix-power {0} 5)", lambda t: L.matrix_power(t, 5), exact(n, n) / 2)
    both(f"matrix-power -2 {n}", "(matrix-power {0} -2)", lambda t: L.matrix_power(t, -2), a)
positive = well(3, 3) @ well(3, 3).T
positive = positive @ positive.T
case("logdet", "(logdet {0})", np.linalg.slogdet(positive)[1], positive)
case(
    "expm of a large matrix",
    "(expm {0})",
    scipy.linalg.expm(np.array([[4.0, 9.0], [-9.0, 1.0]])),
    np.array([[4.0, 9.0], [-9.0, 1.0]]),
)
for m, n in ((3, 3), (4, 2), (2, 4)):
    a, b, v = exact(m, n), exact(m, 2), exact(m)
    for i, part in enumerate(("p", "l", "u")):
        get = ["(first {})", "(second {})", "(get {} 2)"][i].format("(lu {0})")
        case(f"lu {m} x {n}, {part}", get, scipy.linalg.lu(a)[i], a)
    both(
        f"lu {m} x {n}, l and u",
        "(let [[p l u] (lu {0})] (@ (sin l) (cos u)))",
        lambda t: (lambda f: f[1].sin() @ f[2].cos())(L.lu(t)),
        a,
    )
    both(f"pinv {m} x {n}", "(pinv {0})", L.pinv, a)
    both(f"lstsq {m} x {n}", "(lstsq {0} {1})", lambda t, y: L.pinv(t) @ y, a, b)
    case(f"lstsq by a vector {m} x {n}", "(lstsq {0} {1})", np.linalg.lstsq(a, v, rcond=None)[0], a, v)
    both(f"svdvals {m} x {n}", "(svdvals {0})", L.svdvals, a)
    for ord_, name in (
        ("fro", ":fro"),
        ("nuc", ":nuc"),
        (1, "1"),
        (-1, "-1"),
        (2, "2"),
        (-2, "-2"),
        (np.inf, "inf"),
        (-np.inf, "(- inf)"),
    ):
        both(
            f"matrix-norm {name} {m} x {n}",
            "(matrix-norm {0} :ord " + name + ")",
            lambda t, o=ord_: L.matrix_norm(t, o),
            a,
        )
    case(f"condition-number {m} x {n}", "(condition-number {0})", np.linalg.cond(a), a)
    both(f"trace {m} x {n}", "(trace {0})", lambda t: t.diagonal().sum(), a)
    for k in (0, 1, -1, -2):
        if -m < k < n:
            both(f"diag {k} of {m} x {n}", f"(diag {{0}} :offset {k})", lambda t, k=k: torch.diagonal(t, k), a)
    q, r = np.linalg.qr(a)
    case(f"qr {m} x {n}, together", "(let [[q r] (qr {0})] (@ q r))", q @ r, a)
    case(f"qr {m} x {n}, r", "(second (qr {0}))", r, a)
deficient = exact(4, 2) @ exact(2, 3)
case("pinv of rank two", "(pinv {0} :rtol 1e-4)", np.linalg.pinv(deficient, rcond=1e-4), deficient)
case(
    "lstsq of rank two",
    "(lstsq {0} {1} :rtol 1e-4)",
    np.linalg.pinv(deficient, rcond=1e-4) @ np.ones(4),
    deficient,
    np.ones(4),
)
print(f"""--- matrix-rank
(list (matrix-rank (cast {text(deficient)} :f64)) (matrix-rank (eye 3)) (matrix-rank (zeros [2 2]))
      (matrix-rank (ones [2 3 4])) (matrix-rank (zeros [2 0])) (matrix-rank [[1 0] [0 1e-3]] :rtol 1e-2)
      (matrix-rank [[1 0] [0 1e-3]] :atol 1e-2))""")
print("=> [2, 3, 0, [1 1], 0, 1, 1]")
v = exact(4)
for k in (0, 2, -1):
    both(f"diag {k} of a vector", f"(diag {{0}} :offset {k})", lambda t, k=k: torch.diag(t, k), v)
both("kron", "(kron {0} {1})", torch.kron, exact(2, 3), exact(3, 2))
both("kron of other ranks", "(kron {0} {1})", torch.kron, exact(2), exact(2, 2, 3))
both("cross-product", "(cross-product {0} {1})", L.cross, exact(4, 3), exact(4, 3))
a, b = exact(3, 2), exact(3, 2)
case("cross-product along the first axis", "(cross-product {0} {1} :axis 0)", np.cross(a, b, axis=0), a, b)
both("block-diag", "(block-diag {0} {1} {0})", lambda a, b: torch.block_diag(a, b, a), exact(2, 3), exact(1, 2))
c, r = exact(4), exact(3)
case("toeplitz", "(toeplitz {0} {1})", scipy.linalg.toeplitz(c, r), c, r)
case("toeplitz, symmetric", "(toeplitz {0})", scipy.linalg.toeplitz(c), c)
places = (torch.arange(4)[:, None] - torch.arange(4)).abs()
both("toeplitz times numbers", "(* {1} (toeplitz {0}))", lambda t, w: w * t[places], c, exact(4, 4))
both(
    "multi-dot",
    "(multi-dot {0} {1} {2} {3})",
    lambda *m: L.multi_dot(m),
    exact(2, 7),
    exact(7, 3),
    exact(3, 5),
    exact(5, 2),
)
both("multi-dot with vectors", "(multi-dot {0} {1} {2})", lambda *m: L.multi_dot(m), exact(3), exact(3, 4), exact(4))
many = np.stack([well(2, 2) for _ in range(4)]).reshape(2, 2, 2, 2)
for name, f in {
    "expm": torch.matrix_exp,
    "pinv": L.pinv,
    "trace": lambda t: t.diagonal(dim1=-2, dim2=-1).sum(-1),
    "logdet": lambda t: L.slogdet(t @ t.mT)[1],
    "svdvals": L.svdvals,
    "matrix-norm": L.matrix_norm,
    "diag": lambda t: t.diagonal(dim1=-2, dim2=-1),
    "condition-number": L.cond,
}.items():
    program = "(logdet (@ {0} (swapaxes {0} -1 -2)))" if name == "logdet" else f"({name} {{0}})"
    case(f"a batch of {name}", program, f(torch.tensor(many)).numpy(), many)
    if name != "logdet":
        case(f"vmap of {name}", f"((vmap {name}) {{0}})", f(torch.tensor(many)).numpy(), many)
case(
    "a batch of solve-triangular",
    "(solve-triangular {0} {1})",
    L.solve_triangular(torch.tensor(many), torch.tensor(np.ones((2, 1))), upper=False).numpy(),
    many,
    np.ones((2, 1)),
)
case("a batch of lu", "(let [[p l u] (lu {0})] (@ p (@ l u)))", many, many)
print("""--- matrices without rows or columns
(list (shape (expm (zeros [0 0]))) (shape (pinv (zeros [0 3]))) (trace (zeros [0 0])) (shape (diag (zeros [0 3])))
      (shape (kron (zeros [0 2]) (ones [2 2]))) (second (slogdet (zeros [0 0])))
      (shape (get (lu (zeros [0 3])) 2)) (map shape (qr (zeros [3 0]))))
=> [[0. 0.], [3. 0.], 0.0, [0.], [0. 4.], 0.0, [0. 3.], [[3. 0.], [0. 0.]]]
--- singular matrices
(list (slogdet (zeros [2 2])) (logdet (zeros [2 2])) (logdet [[0 1] [1 0]]) (condition-number (zeros [2 2]))
      (solve-triangular [[0]] [1]))
=> [[0.0, -inf], -inf, NaN, inf, [inf]]
--- what is not a matrix
(trace [1 2])
!! trace: expected a matrix, got shape [2]
--- what is not square
(slogdet (ones [2 3]))
!! slogdet: expected a square matrix, got shape [2, 3]
--- a right side that does not fit
(solve-triangular (eye 2) [1 2 3])
!! solve-triangular: expected a vector or matrix of 2 rows on the right side, got shape [3]
--- a norm that there is not
(matrix-norm (eye 2) :ord 3)
!! matrix-norm: expected :ord :fro, :nuc, 1, -1, 2, -2, inf or -inf, got 3
--- an inverse in place of a power
(matrix-power (ones [2 3]) 2)
!! matrix-power: expected a square matrix, got shape [2, 3]""")
