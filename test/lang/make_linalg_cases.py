"""Writes linalg_library.cases: linear algebra and Fourier transforms of lib/linalg.shf, values and gradients, against
NumPy and PyTorch in double precision, for f32 and f64. Needs numpy and torch. Run by hand:
python3 test/lang/make_linalg_cases.py > test/lang/linalg_library.cases"""

import numpy as np
import torch

torch.set_default_dtype(torch.float64)
RNG = np.random.default_rng(3)


def text(x):
    x = np.asarray(x)
    return "[" + " ".join(text(v) for v in x) + "]" if x.ndim else repr(float(x))


def exact(shape):
    """Values that f32 holds exactly."""
    return np.round(RNG.normal(size=shape) * 64) / 64


def tensor(x, dtype):
    # A literal is f32, which holds the inputs exactly; expected values of f64 come as numbers written in two parts.
    return f"(cast {text(x)} :{dtype})"


def expected(x, dtype):
    if dtype == "f32":
        return text(x)
    high = np.asarray(x, np.float64).astype(np.float32).astype(np.float64)
    return f"(+ (cast {text(high)} :f64) (cast {text(np.asarray(x, np.float64) - high)} :f64))"


TOLERANCE = {"f32": ":rtol 2e-5 :atol 2e-5", "f64": ":rtol 1e-11 :atol 1e-11"}


def case(title, program, value):
    for d in ("f32", "f64"):
        print(f"--- {title}, {d}\n(is-close {program(d)}\n  {expected(value, d)} {TOLERANCE[d]})\n=> true")


def gradient(f, x):
    t = torch.tensor(x, requires_grad=True)
    f(t).backward()
    return t.grad.numpy()


def well(n):
    """Well conditioned."""
    return exact((n, n)) + 3 * np.eye(n)


def positive(n):
    a = exact((n, n))
    return a @ a.T + np.eye(n)


print(";;; Made by make_linalg_cases.py; do not edit.")
L = torch.linalg
for n in (1, 2, 5, 8):
    a, b, v, p = well(n), exact((n, 3)), exact(n), positive(n)
    weights = exact((n, n))
    case(f"solve {n}", lambda d: f"(solve {tensor(a, d)} {tensor(b, d)})", np.linalg.solve(a, b))
    case(f"solve a vector {n}", lambda d: f"(solve {tensor(a, d)} {tensor(v, d)})", np.linalg.solve(a, v))
    case(f"inv {n}", lambda d: f"(inv {tensor(a, d)})", np.linalg.inv(a))
    case(
        f"det {n}",
        lambda d: f"(/ (det {tensor(a, d)}) {tensor(float(np.float32(np.linalg.det(a))), d)})",
        np.linalg.det(a) / float(np.float32(np.linalg.det(a))),
    )
    case(f"cholesky {n}", lambda d: f"(cholesky {tensor(p, d)})", np.linalg.cholesky(p))
    q, r = np.linalg.qr(a)
    case(f"qr {n}, q", lambda d: f"(first (qr {tensor(a, d)}))", q)
    case(f"qr {n}, r", lambda d: f"(second (qr {tensor(a, d)}))", r)
    case(f"eigh {n}, values", lambda d: f"(first (eigh {tensor(p, d)}))", np.linalg.eigvalsh(p))
    case(f"eigh {n}, together", lambda d: f"(let [[w v] (eigh {tensor(p, d)})] (@ (* v w) (tr v)))", p)
    case(f"svd {n}, values", lambda d: f"(second (svd {tensor(a, d)}))", np.linalg.svd(a)[1])
    case(f"svd {n}, together", lambda d: f"(let [[u s vt] (svd {tensor(a, d)})] (@ (* u s) vt))", a)
    w = torch.tensor(weights)
    case(
        f"gradient of solve by a, {n}",
        lambda d: f"((grad (fn [a] (sum (sin (solve a {tensor(b, d)}))))) {tensor(a, d)})",
        gradient(lambda t: L.solve(t, torch.tensor(b)).sin().sum(), a),
    )
    case(
        f"gradient of solve by b, {n}",
        lambda d: f"((grad (fn [b] (sum (sin (solve {tensor(a, d)} b))))) {tensor(b, d)})",
        gradient(lambda t: L.solve(torch.tensor(a), t).sin().sum(), b),
    )
    case(
        f"gradient of inv {n}",
        lambda d: f"((grad (fn [a] (sum (* {tensor(weights, d)} (inv a))))) {tensor(a, d)})",
        gradient(lambda t: (w * L.inv(t)).sum(), a),
    )
    case(
        f"gradient of log det {n}",
        lambda d: f"((grad (fn [a] (log (abs (det a))))) {tensor(a, d)})",
        gradient(lambda t: L.det(t).abs().log(), a),
    )
    case(
        f"gradient of cholesky {n}",
        lambda d: f"((grad (fn [a] (sum (* {tensor(weights, d)} (sin (cholesky a)))))) {tensor(p, d)})",
        gradient(lambda t: (w * L.cholesky(t).sin()).sum(), p),
    )
    case(
        f"gradient of qr {n}",
        lambda d: (
            f"((grad (fn [a] (let [[q r] (qr a)] (sum (* {tensor(weights, d)} (+ (sin q) (cos r))))))) {tensor(a, d)})"
        ),
        gradient(lambda t: (lambda qr: (w * (qr[0].sin() + qr[1].cos())).sum())(L.qr(t)), a),
    )
    case(
        f"gradient of eigh {n}, values",
        lambda d: f"((grad (fn [a] (sum (sin (first (eigh a)))))) {tensor(p, d)})",
        gradient(lambda t: L.eigh(t)[0].sin().sum(), p),
    )
    case(
        f"gradient of eigh {n}, vectors",
        lambda d: f"((grad (fn [a] (sum (* {tensor(weights, d)} (** (second (eigh a)) 2))))) {tensor(p, d)})",
        gradient(lambda t: (w * L.eigh(t)[1] ** 2).sum(), p),
    )
    case(
        f"gradient of svd {n}, values",
        lambda d: f"((grad (fn [a] (sum (sin (second (svd a)))))) {tensor(a, d)})",
        gradient(lambda t: L.svd(t)[1].sin().sum(), a),
    )
for m, n in ((5, 3), (3, 5), (7, 4)):
    a = exact((m, n))
    k = min(m, n)
    wu, wv = exact((m, k)), exact((k, n))
    case(f"svd {m} x {n}, values", lambda d: f"(second (svd {tensor(a, d)}))", np.linalg.svd(a)[1])
    case(f"svd {m} x {n}, together", lambda d: f"(let [[u s vt] (svd {tensor(a, d)})] (@ (* u s) vt))", a)
    case(
        f"gradient of svd {m} x {n}",
        lambda d: (
            f"((grad (fn [a] (let [[u s vt] (svd a)] (+ (sum (* {tensor(wu, d)} (** u 2))) (sum (* {tensor(wv, d)} (** vt 2))) (sum (sin s)))))) {tensor(a, d)})"
        ),
        gradient(
            lambda t: (
                lambda r: (torch.tensor(wu) * r[0] ** 2).sum() + (torch.tensor(wv) * r[2] ** 2).sum() + r[1].sin().sum()
            )(L.svd(t, full_matrices=False)),
            a,
        ),
    )
    if m >= n:
        q, r = np.linalg.qr(a)
        case(f"qr {m} x {n}, q", lambda d: f"(first (qr {tensor(a, d)}))", q)
        w = exact((m, n))
        case(
            f"gradient of qr {m} x {n}",
            lambda d: (
                f"((grad (fn [a] (let [[q r] (qr a)] (+ (sum (* {tensor(w, d)} (sin q))) (sum (cos r)))))) {tensor(a, d)})"
            ),
            gradient(
                lambda t: (lambda qr: (torch.tensor(w) * qr[0].sin()).sum() + qr[1].triu().cos().sum() - 0)(L.qr(t)), a
            ),
        )
for n in (1, 2, 3, 4, 7, 12, 16, 30, 64, 97):
    x = exact(n)
    f = np.fft.rfft(x)
    pairs = np.stack([f.real, f.imag], -1)
    scale = float(np.abs(pairs).max())
    w = exact(pairs.shape)
    case(
        f"rfft {n}",
        lambda d: f"(/ (rfft {tensor(x, d)}) {tensor(2.0 ** np.ceil(np.log2(scale)), d)})",
        pairs / 2.0 ** np.ceil(np.log2(scale)),
    )
    case(f"irfft {n}", lambda d: f"(irfft (rfft {tensor(x, d)}) :n {n})", x)
    if n > 2:
        case(
            f"irfft of any numbers {n}",
            lambda d: f"(irfft {tensor(w, d)} :n {n})",
            np.fft.irfft(w[:, 0] + 1j * w[:, 1], n),
        )
    case(
        f"gradient of rfft {n}",
        lambda d: f"((grad (fn [x] (sum (* {tensor(w, d)} (rfft x))))) {tensor(x, d)})",
        gradient(lambda t: (torch.tensor(w) * torch.view_as_real(torch.fft.rfft(t))).sum(), x),
    )
x = exact((3, 2, 30))
f = np.fft.rfft(x)
case("rfft of many", lambda d: f"(rfft {tensor(x, d)})", np.stack([f.real, f.imag], -1))
a = np.stack([well(3), well(3)])
case("a batch of inverses", lambda d: f"((vmap inv) {tensor(a, d)})", np.linalg.inv(a))
p = np.stack([positive(4), positive(4)])
case("a batch of factors", lambda d: f"((vmap cholesky) {tensor(p, d)})", np.linalg.cholesky(p))
case("a batch of eigenvalues", lambda d: f"((vmap (fn [a] (first (eigh a)))) {tensor(p, d)})", np.linalg.eigvalsh(p))
