"""Writes fourier.cases: lib/fourier.shf and lib/signal.shf, values and gradients, against NumPy, SciPy and PyTorch in
double precision, for f32 and f64. Needs numpy, scipy and torch. Run by hand:
python3 test/lang/make_fourier_cases.py > test/lang/fourier.cases"""

import numpy as np
import scipy.fft
import scipy.signal
import torch

torch.set_default_dtype(torch.float64)
RNG = np.random.default_rng(5)


def text(x):
    x = np.asarray(x)
    if x.ndim:
        return "[" + " ".join(text(v) for v in x) + "]"
    return np.format_float_positional(x, trim="0") if 1e-3 < abs(x) < 1e6 else f"{x:.17g}"


def exact(*shape):
    """Values that f32 holds exactly."""
    return np.round(RNG.normal(size=shape) * 64) / 64


def tensor(x, dtype):
    # A literal is f32, which holds the inputs exactly; expected values of f64 come as numbers written in two parts.
    return f"(cast {text(x)} :{dtype})"


def expected(x, dtype):
    if dtype == "f32":
        return text(np.asarray(x, np.float32))
    high = np.asarray(x, np.float64).astype(np.float32).astype(np.float64)
    return f"(+ (cast {text(high)} :f64) (cast {text(np.asarray(x, np.float64) - high)} :f64))"


BOTH = ("f32", "f64")
RELATIVE = {"f32": 4e-6, "f64": 1e-14}


def case(title, program, value, dtypes=("f64",)):
    """The tolerance is a part of the largest element: that is what the error of a transform is measured by."""
    value = np.asarray(value, np.float64)
    for d in dtypes:
        atol = float(RELATIVE[d] * max(1.0, np.abs(value).max()))
        print(f"--- {title}, {d}\n(is-close {program(d)}\n  {expected(value, d)} :rtol 0 :atol {atol:.2g})\n=> true")


def pairs(z):
    return np.stack([np.real(z), np.imag(z)], -1)


def numbers(p):
    return p[..., 0] + 1j * p[..., 1]


def gradient(f, x):
    t = torch.tensor(x, requires_grad=True)
    f(t).backward()
    return t.grad.numpy()


def of_pairs(f):
    """f of complex tensors as a function of pairs."""
    return lambda t: torch.view_as_real(f(torch.view_as_complex(t)).resolve_conj())


print(";;; Made by make_fourier_cases.py; do not edit.")

for n in (1, 2, 3, 4, 5, 7, 12, 16, 17, 30, 64):
    p, x, w = exact(n, 2), exact(n), exact(n // 2 + 1, 2)
    case(f"fft {n}", lambda d: f"(fft {tensor(p, d)})", pairs(np.fft.fft(numbers(p))), BOTH)
    case(f"ifft {n}", lambda d: f"(ifft {tensor(p, d)})", pairs(np.fft.ifft(numbers(p))), BOTH)
    case(f"rfft {n}", lambda d: f"(rfft {tensor(x, d)})", pairs(np.fft.rfft(x)), BOTH)
    case(f"irfft {n}", lambda d: f"(irfft {tensor(w, d)} :n {n})", np.fft.irfft(numbers(w), n), BOTH)
    case(
        f"gradient of rfft {n}",
        lambda d: f"((grad (fn [x] (sum (* {tensor(w, d)} (rfft x))))) {tensor(x, d)})",
        gradient(lambda t: (torch.tensor(w) * torch.view_as_real(torch.fft.rfft(t))).sum(), x),
        BOTH,
    )
    case(
        f"gradient of irfft {n}",
        lambda d: f"((grad (fn [w] (sum (* {tensor(x, d)} (irfft w :n {n}))))) {tensor(w, d)})",
        gradient(lambda t: (torch.tensor(x) * torch.fft.irfft(torch.view_as_complex(t), n)).sum(), w),
        BOTH,
    )

# Options of one transform: sizes that cut off or append, axes, norms; batches.
x, p = exact(2, 4, 3), exact(2, 4, 3, 2)
for norm in ("backward", "ortho", "forward"):
    for axis in (0, 1, -1):
        for n in (None, 2, 5):
            options = f":axis {axis} :norm :{norm}" + (f" :n {n}" if n else "")
            case(f"fft {options}", lambda d: f"(fft {tensor(p, d)} {options})", pairs(np.fft.fft(numbers(p), n, axis, norm)))
            case(
                f"ifft {options}", lambda d: f"(ifft {tensor(p, d)} {options})", pairs(np.fft.ifft(numbers(p), n, axis, norm))
            )
            case(f"rfft {options}", lambda d: f"(rfft {tensor(x, d)} {options})", pairs(np.fft.rfft(x, n, axis, norm)))
            case(f"irfft {options}", lambda d: f"(irfft {tensor(p, d)} {options})", np.fft.irfft(numbers(p), n, axis, norm))

# Several axes.
x, p = exact(2, 3, 4), exact(2, 3, 4, 2)
for name, f in (("fftn", np.fft.fftn), ("ifftn", np.fft.ifftn)):
    for options, kw in (
        ("", {}),
        (":s [2 6]", {"s": (2, 6), "axes": (-2, -1)}),
        (":axes [0 2]", {"axes": (0, 2)}),
        (":axes [2 0] :s [4 2] :norm :ortho", {"axes": (2, 0), "s": (4, 2), "norm": "ortho"}),
    ):
        case(f"{name} {options}", lambda d: f"({name} {tensor(p, d)} {options})", pairs(f(numbers(p), **kw)))
for options, kw in (
    ("", {}),
    (":s [2 6]", {"s": (2, 6), "axes": (-2, -1)}),
    (":axes [0 1]", {"axes": (0, 1)}),
    (":axes [2 0] :s [4 3] :norm :forward", {"axes": (2, 0), "s": (4, 3), "norm": "forward"}),
):
    case(f"rfftn {options}", lambda d: f"(rfftn {tensor(x, d)} {options})", pairs(np.fft.rfftn(x, **kw)))
    case(f"irfftn {options}", lambda d: f"(irfftn {tensor(p, d)} {options})", np.fft.irfftn(numbers(p), **kw))
for name in ("fft2", "ifft2"):
    case(name, lambda d: f"({name} {tensor(p, d)})", pairs(getattr(np.fft, name)(numbers(p))))
case("rfft2", lambda d: f"(rfft2 {tensor(x, d)})", pairs(np.fft.rfft2(x)))
case("irfft2", lambda d: f"(irfft2 {tensor(p, d)} :s [3 5])", np.fft.irfft2(numbers(p), (3, 5)))

# Derivatives: of a function that is not linear, and of its gradient; vmap.
for n in (5, 8):
    p, x = exact(n, 2), exact(n)
    cube = of_pairs(torch.fft.fft)
    case(
        f"gradient of fft {n}",
        lambda d: f"((grad (fn [z] (sum (** (fft z) 3)))) {tensor(p, d)})",
        gradient(lambda t: (cube(t) ** 3).sum(), p),
    )

    def twice(t):
        (g,) = torch.autograd.grad((torch.view_as_real(torch.fft.rfft(t)) ** 3).sum(), t, create_graph=True)
        return (g * g).sum() / 1024

    case(
        f"second derivative of rfft {n}",
        lambda d: (
            f"((grad (fn [x] (let [g ((grad (fn [x] (sum (** (rfft x) 3)))) x)] (/ (sum (* g g)) 1024)))) {tensor(x, d)})"
        ),
        gradient(twice, x),
    )
    q = exact(3, n, 2)
    case(f"vmap of fft {n}", lambda d: f"((vmap fft) {tensor(q, d)})", pairs(np.fft.fft(numbers(q))))
    case(
        f"vmap of ifft along another axis {n}",
        lambda d: f"((vmap (fn [z] (ifft z :axis 0)) [1]) {tensor(q, d)})",
        pairs(np.moveaxis(np.fft.ifft(numbers(q), axis=0), 1, 0)),
    )

# Frequencies.
for n in (1, 2, 5, 8):
    case(f"fftfreq {n}", lambda d: f"(cast (fftfreq {n} :d 0.5) :{d})", np.fft.fftfreq(n, 0.5).astype(np.float32))
    case(f"rfftfreq {n}", lambda d: f"(cast (rfftfreq {n}) :{d})", np.fft.rfftfreq(n).astype(np.float32))
x = exact(3, 4)
case("fftshift", lambda d: f"(fftshift {tensor(x, d)})", np.fft.fftshift(x))
case("ifftshift along an axis", lambda d: f"(ifftshift {tensor(x, d)} :axes 0)", np.fft.ifftshift(x, 0))

# Cosine transforms.
for n in (1, 2, 3, 8, 9):
    x, w = exact(2, n), exact(2, n)
    for kind in (1, 2, 3, 4):
        if kind == 1 and n == 1:
            continue
        for norm in ("backward", "ortho", "forward"):
            options = f":type {kind} :norm :{norm}"
            case(f"dct {n} {options}", lambda d: f"(dct {tensor(x, d)} {options})", scipy.fft.dct(x, kind, norm=norm))
            case(f"idct {n} {options}", lambda d: f"(idct {tensor(x, d)} {options})", scipy.fft.idct(x, kind, norm=norm))
        # The adjoint: the transform's matrix, transposed.
        matrix = scipy.fft.dct(np.eye(n), kind, axis=0)
        case(
            f"gradient of dct {n} :type {kind}",
            lambda d: f"((grad (fn [x] (sum (* {tensor(w, d)} (dct x :type {kind}))))) {tensor(x, d)})",
            w @ matrix,
        )
x = exact(4, 3)
case("dct along an axis", lambda d: f"(dct {tensor(x, d)} :axis 0)", scipy.fft.dct(x, axis=0))

# Windows.
WINDOWS = {
    "hann-window": lambda n, sym: scipy.signal.windows.hann(n, sym=sym),
    "hamming-window": lambda n, sym: scipy.signal.windows.hamming(n, sym=sym),
    "blackman-window": lambda n, sym: scipy.signal.windows.blackman(n, sym=sym),
    "bartlett-window": lambda n, sym: scipy.signal.windows.bartlett(n, sym=sym),
    "kaiser-window": lambda n, sym: scipy.signal.windows.kaiser(n, 12.0, sym=sym),
}
for name, f in WINDOWS.items():
    for n in (1, 2, 9):
        for periodic in (False, True):
            case(
                f"{name} {n} :periodic {periodic}",
                lambda d: f"({name} {n} :dtype :{d} :periodic {str(periodic).lower()})",
                f(n, not periodic),
            )
case("kaiser-window :beta 30", lambda d: f"(kaiser-window 9 :beta 30 :dtype :{d})", np.kaiser(9, 30.0))

# Convolutions.
for n, m in ((1, 1), (5, 3), (3, 5), (4, 4), (6, 2), (2, 5), (12, 9)):
    x, y = exact(n), exact(m)
    for mode in ("full", "same", "valid"):
        for method in ("direct", "fft"):
            options = f":mode :{mode} :method :{method}"
            case(
                f"convolve {n} {m} {options}",
                lambda d: f"(convolve {tensor(x, d)} {tensor(y, d)} {options})",
                np.convolve(x, y, mode),
            )
            case(
                f"correlate {n} {m} {options}",
                lambda d: f"(correlate {tensor(x, d)} {tensor(y, d)} {options})",
                np.correlate(x, y, mode),
            )
x, y, w = exact(3, 20), exact(6), exact(3, 25)
whole = np.stack([np.convolve(r, y) for r in x])
case("convolve of a batch", lambda d: f"(convolve {tensor(x, d)} {tensor(y, d)})", whole)
case(
    "gradient of convolve",
    lambda d: f"((grad (fn [y] (sum (* {tensor(w, d)} (convolve {tensor(x, d)} y))))) {tensor(y, d)})",
    sum(np.correlate(w[i], x[i], "valid") for i in range(3)),
)

# Short-time transforms.
x = exact(2, 30)
for n, hop, length, center, mode, normalized, onesided in (
    (16, 4, 16, True, "reflect", False, True),
    (16, 5, 12, True, "constant", True, True),
    (15, 15, 15, False, "reflect", False, True),
    (12, 20, 9, True, "reflect", False, False),
    (10, 3, 10, False, "reflect", True, False),
):
    window = np.round(scipy.signal.windows.hann(length + 1)[1:] * 64 + 8) / 64
    said = [f":hop {hop}", f":center {str(center).lower()}", f":normalized {str(normalized).lower()}"]
    said.append(f":onesided {str(onesided).lower()}")
    options = " ".join(said)
    kw = {"hop_length": hop, "win_length": length, "window": torch.tensor(window), "center": center}
    kw |= {"normalized": normalized, "onesided": onesided}

    def transform(t):
        return torch.view_as_real(torch.stft(t, n, pad_mode=mode, return_complex=True, **kw).resolve_conj())

    z = transform(torch.tensor(x)).numpy()
    case(
        f"stft {n} {options} :pad-mode :{mode}",
        lambda d: f"(stft {tensor(x, d)} {n} :window {tensor(window, d)} {options} :pad-mode :{mode})",
        z,
    )
    w = exact(*z.shape)
    case(
        f"gradient of stft {n} {options} :pad-mode :{mode}",
        lambda d: (
            f"((grad (fn [x] (sum (* {tensor(w, d)} (stft x {n} :window {tensor(window, d)} {options} :pad-mode :{mode})))))"
            f" {tensor(x, d)})"
        ),
        gradient(lambda t: (torch.tensor(w) * transform(t)).sum(), x),
    )
    if hop <= length and center:
        given = np.round(z * 64) / 64
        case(
            f"istft {n} {options}",
            lambda d: f"(istft {tensor(given, d)} {n} :window {tensor(window, d)} {options})",
            torch.istft(torch.view_as_complex(torch.tensor(given)), n, **kw).numpy(),
        )
x = exact(2, 9)
case("hilbert of an odd number", lambda d: f"(hilbert {tensor(x, d)})", pairs(scipy.signal.hilbert(x)))
x = exact(8)
case("hilbert of an even number", lambda d: f"(hilbert {tensor(x, d)})", pairs(scipy.signal.hilbert(x)))
