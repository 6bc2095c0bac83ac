"""Writes elements.cases, statistics.cases, arrays.cases, dates.cases, sets.cases and segments.cases: functions of lib/
against NumPy, SciPy and Python. Run by hand where they are installed: python3 test/lang/make_array_cases.py"""

import datetime
import pathlib
import warnings

import numpy as np
from scipy import integrate, special, stats

from golden_cases import Cases, number, printed, program

warnings.simplefilter("ignore")
here = pathlib.Path(__file__).parent
rng = np.random.default_rng(7)
nan, inf = np.nan, np.inf
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def file(name):
    return Cases(here / f"{name}.cases", "make_array_cases.py")


def grid(*shape, lo=-16, hi=17):
    return rng.integers(lo, hi, shape) / 8


# Functions of single elements

c = file("elements")
plain = np.array([-2.5, -1.0, -0.125, 0.5, 1.0, 3.25])
positive = np.array([0.125, 0.5, 1.0, 1.5, 4.0, 30.0])
UNARY = [
    ("exp2", np.exp2, plain),
    ("log2", np.log2, positive),
    ("log10", np.log10, positive),
    ("cbrt", np.cbrt, plain),
    ("lgamma", special.gammaln, positive),
    ("digamma", special.digamma, positive),
    ("erfc", special.erfc, plain),
    ("i0", special.i0, plain),
    ("i1", special.i1, plain),
    ("i0e", special.i0e, plain),
    ("i1e", special.i1e, plain),
    ("bessel-j0", special.j0, plain * 4),
    ("bessel-j1", special.j1, plain * 4),
    ("bessel-y0", special.y0, positive),
    ("bessel-y1", special.y1, positive),
    ("bessel-k0", special.k0, positive),
    ("bessel-k1", special.k1, positive),
    ("erfinv", special.erfinv, plain / 4),
    ("sinc", np.sinc, np.array([-1.25, -0.25, 0.0, 0.125, 0.75, 3.5])),
    ("square", np.square, plain),
    ("reciprocal", np.reciprocal, plain),
    ("rsqrt", lambda x: x**-0.5, positive),
    ("deg2rad", np.deg2rad, plain),
    ("rad2deg", np.rad2deg, plain),
    ("logit", special.logit, np.array([0.125, 0.5, 0.75])),
    ("entr", special.entr, positive),
    ("ndtr", special.ndtr, plain),
    ("ndtri", special.ndtri, np.array([0.125, 0.5, 0.75])),
    ("log-sigmoid", special.log_expit, plain),
    ("soft-sign", lambda x: x / (1 + abs(x)), plain),
    ("squareplus", lambda x: (x + np.sqrt(x * x + 4)) / 2, plain),
    ("tanh-shrink", lambda x: x - np.tanh(x), plain),
    ("relu6", lambda x: np.clip(x, 0, 6), plain * 4),
    ("hard-tanh", lambda x: np.clip(x, -1, 1), plain * 0.7),
    ("hard-sigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1), plain * 1.5),
    ("hard-swish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), plain * 1.5),
    ("soft-shrink", lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0), plain * 1.1),
    ("hard-shrink", lambda x: np.where(abs(x) > 0.5, x, 0), plain * 1.1),
    ("frac", lambda x: x - np.trunc(x), plain * 1.1),
]
for name, f, x in UNARY:
    c.function(name, f"({name} x)", f, x, derivatives=1 if name in ("sinc", "erfinv") else 2)
    c.value(f"{name} of a number", f"({name} {number(x[1])})", np.float64(f(x[1])))
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 1e-30, -1e-30, 170.0, 1e10, -1e10, inf, -inf, nan]
for name, f in [
    ("exp2", np.exp2),
    ("log2", np.log2),
    ("log10", np.log10),
    ("cbrt", np.cbrt),
    ("erfc", special.erfc),
    ("lgamma", special.gammaln),
    ("i0e", special.i0e),
    ("i1e", special.i1e),
    ("bessel-y0", special.y0),
    ("bessel-y1", special.y1),
    ("bessel-k0", special.k0),
    ("bessel-k1", special.k1),
    ("sinc", np.sinc),
    ("trunc", np.trunc),
    ("rint", np.rint),
    ("entr", special.entr),
    ("ndtr", special.ndtr),
]:
    # SciPy's functions of the second kind lose digits of large numbers, and have NaN at infinity.
    large = name == "sinc" or name[:8] == "bessel-y"
    x = np.array([v for v in SPECIAL if not (large and abs(v) > 1e9) and not (name == "lgamma" and v == -inf)])
    y = f(x)
    with np.errstate(over="ignore"):
        y = y.astype(np.float32).astype(np.float64)
    c.value(f"{name} of special values", f"({name} {program(x)})", np.where(np.abs(y) < 1e-37, 0, y))
c.value(
    "digamma of special values",
    "(digamma [0.0 -0.0 -1 -2.5 1.4616321449683623 inf 1e-30])",
    [-inf, inf, nan, special.digamma(-2.5), special.digamma(np.float32(1.4616321449683623)), inf, -1e30],
)
c.value(
    "lgamma next to its zeros and poles",
    "(lgamma [0.99999 1.00001 1.99999 2.00001 -0.5 -1.5 -2.4570247382 -1e-5 -3])",
    special.gammaln(
        np.float32([0.99999, 1.00001, 1.99999, 2.00001, -0.5, -1.5, -2.4570247382, -1e-5, -3]).astype("f8")
    ),
)
orders = np.array([0.125, 0.5, 1.0, 2.0, 5.0, 10.0, 10.0, 100.0, 0.0, 1.0, inf, -1.0, 2.0])
upto = np.array([0.25, 0.125, 3.0, 0.0, 4.5, 30.0, 2.0, 90.0, 1.0, inf, 2.0, 1.0, -1.0])
for name, f, sign in [("igamma", special.gammainc, 1), ("igammac", special.gammaincc, -1)]:
    c.value(name, f"({name} {program(orders)} {program(upto)})", f(orders, upto))
    c.value(f"{name} of numbers", f"({name} 2.5 1.5)", np.float64(f(2.5, 1.5)))
    x = upto[:8]
    slope = sign * np.exp(special.xlogy(orders[:8] - 1, x) - x - special.gammaln(orders[:8]))
    c.value(
        f"the derivative of {name}", f"((grad (fn [x] (sum ({name} {program(orders[:8])} x)))) {program(x)})", slope
    )
    want = " ".join(repr(float(v)) for v in f(orders[:8], x))
    c.text(
        f"{name} in f64",
        f"(allclose ({name} (tensor '{program(orders[:8])} :dtype :f64) (tensor '{program(x)} :dtype :f64)) "
        f"(tensor '[{want}] :dtype :f64) :rtol 1e-12 :atol 0.0)",
        "true",
    )
    c.value(f"{name} under vmap", f"((vmap (fn [x] ({name} 2.5 x))) [0.5 1.5 9])", f(2.5, np.array([0.5, 1.5, 9])))
x = np.array([1.0, 1.0, 0.0, 0.0, -2.0, inf, 65504.0, 2.0**-14, 3e-6, 5.0])
to = np.array([2.0, 0.0, 1.0, -1.0, -3.0, 0.0, inf, 0.0, 1.0, 5.0])
for dtype, of in [("f32", np.float32), ("f16", np.float16), ("f64", np.float64)]:
    want = " ".join(number(float(v)) for v in np.nextafter(x.astype(of), to.astype(of)))
    made = "(tensor '{} :dtype :f64)"
    c.text(
        f"nextafter in {dtype}",
        f"(sum (!= (nextafter (cast {made.format(program(x))} :{dtype}) (cast {made.format(program(to))} :{dtype})) "
        f"(cast {made.format(f'[{want}]')} :{dtype})))",
        "0.0",
    )
c.text(
    "nextafter in bf16",
    "(nextafter (cast [1 1 -1 256] :bf16) (cast [2 0 -2 inf] :bf16))",
    "[ 1.01 0.996 -1.01  258.]",
)
c.text("nextafter of NaN", "(nextafter [nan 1] [1 nan])", "[NaN NaN]")
c.text("e", "(list (* 2 e) (let [e 3] e))", "[5.4365635, 3]")
for n in range(1, 5):
    x = np.array([0.25, 1.0, 2.5, 20.0])
    c.function(f"polygamma {n}", f"(polygamma {n} x)", lambda x, n=n: special.polygamma(n, x), x[1:], derivatives=1)
c.fails("polygamma of an order", "(polygamma 2.5 [1 2])", "polygamma: expected a whole number, got 2.5")
c.fails(
    "polygamma of an order that is too large", "(polygamma 99 1)", "polygamma: expected an order from 0 to 20, got 99"
)
big = np.array([0.3, 1.7, 2.5, 11.25, 170.5, -3.7])
for name, f in [
    ("lgamma", special.gammaln),
    ("digamma", special.digamma),
    ("erfc", special.erfc),
    ("i0", special.i0),
    ("i1", special.i1),
    ("i0e", special.i0e),
    ("i1e", special.i1e),
    ("bessel-j0", special.j0),
    ("bessel-j1", special.j1),
    ("bessel-y0", special.y0),
    ("bessel-y1", special.y1),
    ("bessel-k0", special.k0),
    ("bessel-k1", special.k1),
    ("log10", np.log10),
    ("cbrt", np.cbrt),
]:
    x = abs(big) if name[:8] in ("log10", "bessel-y", "bessel-k") else big
    want = " ".join(repr(float(v)) for v in f(x))
    c.text(
        f"{name} in f64",
        f"(allclose ({name} {program(x)} :f64) ([{want}] :f64) :rtol 1e-13 :atol 1e-15)".replace(
            f"{program(x)} :f64", f"(cast (tensor '{program(x)} :dtype :f64) :f64)"
        ).replace(f"([{want}] :f64)", f"(tensor '[{want}] :dtype :f64)"),
        "true",
    )
a, b = grid(2, 3), grid(3, lo=1)
BINARY = [
    ("hypot", np.hypot),
    ("copysign", np.copysign),
    ("fmod", np.fmod),
    ("logaddexp", np.logaddexp),
    ("logaddexp2", np.logaddexp2),
    ("fmax", np.fmax),
    ("fmin", np.fmin),
    ("heaviside", np.heaviside),
]
for name, f in BINARY:
    c.value(name, f"({name} {program(a)} {program(b)})", f(a, b))
    c.value(f"{name} of numbers", f"({name} -1.25 0.5)", f(-1.25, 0.5))
    edge = np.array([0.0, -0.0, 1.0, -2.0, inf, -inf, nan])
    p, q = np.meshgrid(edge, edge)
    if name != "heaviside":
        c.value(f"{name} of special values", f"({name} {program(p.ravel())} {program(q.ravel())})", f(p, q).ravel())
for name, f in [("hypot", np.hypot), ("logaddexp", np.logaddexp)]:
    c.function(
        f"{name} in its first argument", f"({name} x [0.5 -1 2])", lambda x, f=f: f(x, [0.5, -1, 2]), [1.25, 2.0, -0.5]
    )
c.function("xlogy", "(xlogy [2 0 0.5] x)", lambda y: special.xlogy([2, 0, 0.5], y), [0.5, 2.0, 3.0])
c.function("xlog1py", "(xlog1py [2 0 0.5] x)", lambda y: special.xlog1py([2, 0, 0.5], y), [0.5, 2.0, 3.0])
p, q = np.meshgrid([0.0, 1.5, -2.0, nan], [0.0, 2.0, inf, nan])
c.value("xlogy of special values", f"(xlogy {program(p.ravel())} {program(q.ravel())})", special.xlogy(p, q).ravel())
c.text("the gradient of xlogy at 0", "((grad (fn [y] (xlogy 0.0 y))) 0.0)", "0.0")
c.text("the gradient of hypot at 0", "((grad (fn [y] (hypot 0.0 y))) 0.0)", "0.0")
c.text(
    "derivatives of sinc at 0",
    "(list ((grad sinc) 0.0) (allclose ((grad (grad sinc)) 0.0) (/ (* pi pi) -3.0) :rtol 1e-6))",
    "[0.0, true]",
)
c.value("nan-to-num", "(nan-to-num [nan inf -inf 1.5])", np.nan_to_num(np.float32([nan, inf, -inf, 1.5])).astype(float))
c.value("nan-to-num with values", "(nan-to-num [nan inf -inf 1.5] :value 3 :posinf 4 :neginf 5)", [3, 4, 5, 1.5])
c.text(
    "nan-to-num of ints and numbers",
    "(list (nan-to-num (arange 2)) (nan-to-num nan) (nan-to-num 2))",
    "[[0 1], 0.0, 2]",
)
c.text(
    "isfinite and signbit",
    "(list (isfinite [1 nan inf -inf]) (signbit [1 -1 0.0 -0.0]) (isfinite 3) (signbit (- (arange 2) 1)))",
    "[[true false false false], [false true false true], true, [true false]]",
)
ints = rng.integers(-40, 40, 8)
others = np.array([3, -3, 7, -7, 5, 1, -1, 4])
c.value("fmod of ints", f"(fmod {program(ints)} {program(others)})", np.fmod(ints, others))
c.value("gcd", f"(gcd {program(ints)} {program(others * 6)})", np.gcd(ints, others * 6))
c.value("lcm", f"(lcm {program(ints)} {program(others)})", np.lcm(ints, others))
c.text("gcd and lcm of numbers", "(list (gcd 0 0) (gcd -12 18) (lcm 4 0) (lcm -4 6))", "[0, 6, 0, 12]")
for name, f in [("bitwise-and", np.bitwise_and), ("bitwise-or", np.bitwise_or), ("bitwise-xor", np.bitwise_xor)]:
    c.value(name, f"({name} {program(ints)} {program(others)})", f(ints, others))
    c.text(
        f"{name} of bools and numbers",
        f"(list ({name} [true false] true) ({name} 12 10) ({name} true false))",
        f"[{'[true false]' if name == 'bitwise-and' else '[true true]' if name == 'bitwise-or' else '[false true]'}, "
        f"{int(f(12, 10))}, {printed(f(True, False))}]",
    )
c.value("bitwise-not", f"(bitwise-not {program(ints)})", np.bitwise_not(ints))
count = np.array([0, 1, 4, 31, 2, 3, 5, 7])
c.value(
    "left-shift",
    f"(left-shift {program(ints)} {program(count)})",
    np.left_shift(ints.astype(np.int32), count.astype(np.int32)),
)
c.value("right-shift", f"(right-shift {program(ints)} {program(count)})", np.right_shift(ints, count))
c.text(
    "shifts beyond the width",
    "(list (left-shift (arange 3) 40) (right-shift (- (arange 3)) 40) (right-shift 5 99))",
    "[[0 0 0], [ 0 -1 -1], 0]",
)
c.fails("bits of floats", "(bitwise-and [1 2] 1)", "bitwise-and: expected ints or bools, got f32[2]")
c.fails("a number shifted too far", "(left-shift 3 62)", "integer overflow: (left-shift 3 62)")
c.fails("a number shifted backwards", "(left-shift 3 -1)", "left-shift: expected 0 or more places, got -1")
c.text(
    "dtypes",
    "(map dtype (list (exp2 [1 2] :bf16) (log10 (cast [1 2] :f64)) (sinc (arange 2)) (lgamma [1 2] :f16) "
    "(square (arange 2)) (hypot [3] :bf16 4) (copysign [1] :f16 -1) (logaddexp [1] :bf16 2)))",
    "[:bf16, :f64, :f32, :f16, :i32, :bf16, :f16, :bf16]",
)
c.text(
    "nothing at all",
    "(list (exp2 (zeros [0])) (lgamma (zeros [0 3])) (gcd (cast (zeros [0]) :i32) 2) "
    "(bitwise-not (cast (zeros [0]) :i32)))",
    "[[], [], [], []]",
)
c.value("lerp", "(lerp [0 10] [10 20] 0.25)", [2.5, 12.5])
c.value("threshold and softmin", "(concat (threshold [1 3] 2 -1) (softmin [0 0]))", [-1, 3, 0.5, 0.5])
c.value(
    "prelu over channels",
    f"(prelu {program(grid(2, 3, 2) * 0 - 1)} [0.25 0.5 2])",
    np.tile([[[-0.25] * 2, [-0.5] * 2, [-2] * 2]], (2, 1, 1)),
)
c.text("pi", "(list pi (* 2 pi) (let [pi 3] pi) (cast pi :f64))", "[3.1415927, 6.2831855, 3, 3.141592653589793]")
c.text("a program may define pi", "(def pi 3)\npi", "3")
c.text("pi is a field of parameters that have it", "(let [p {:pi 4.0}] (with-params [p] (* 2 pi)))", "8.0")

# Statistics

c = file("statistics")
x = grid(4, 5)
holes = x.copy()
holes[1, 2] = holes[3, 2] = holes[0, 0] = nan
METHODS = [
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
    "interpolated_inverted_cdf",
]
for method in METHODS:
    for axis in (None, 0, -1):
        o = f":method :{method.replace('_', '-')}" + (f" :axis {axis}" if axis is not None else "")
        qs = [0.0, 0.1, 0.25, 0.5, 0.77, 1.0]
        c.value(
            f"quantile, {method}, axis {axis}",
            f"(quantile {program(x)} '[{' '.join(map(str, qs))}] {o})",
            np.quantile(x, qs, axis=axis, method=method),
        )
        c.value(
            f"nanquantile, {method}, axis {axis}",
            f"(nanquantile {program(holes)} 0.3 {o})",
            np.nanquantile(holes, 0.3, axis=axis, method=method),
        )
cube = grid(2, 3, 4)
c.value("quantile of several axes", f"(quantile {program(cube)} 0.4 :axis [0 -1])", np.quantile(cube, 0.4, axis=(0, 2)))
c.value("median, keepdims", f"(median {program(cube)} :axis 1 :keepdims true)", np.median(cube, axis=1, keepdims=True))
c.value("median of a list", "(median '[3 1 2])", 2)
c.value("median with NaN", f"(median {program(holes)} :axis 0)", np.median(holes, axis=0))
c.value("nanmedian", f"(nanmedian {program(holes)} :axis 0)", np.nanmedian(holes, axis=0))
c.value("percentile", f"(percentile {program(x)} [0 10 50] :axis 0)", np.percentile(x, [0, 10, 50], axis=0))
c.value("quantile with infinities", "(quantile [-inf 1 inf inf] [0 0.5 1])", [-inf, inf, inf])
c.function(
    "quantile",
    "(quantile x [0.2 0.9])",
    lambda v: np.quantile(v, [0.2, 0.9]),
    [1.0, 5.0, 2.5, -3.0, 8.0],
    derivatives=1,
)
c.function(
    "median of rows",
    "(median x :axis 1)",
    lambda v: np.median(v, axis=1),
    [[1.0, 5.0, 2.5, 9.0], [-3.0, 8.0, 7.0, 1.0]],
    derivatives=1,
)
c.fails(
    "quantile outside",
    "(quantile [1 2] 1.5)",
    "quantile: expected fractions from 0 to 1 (percentiles: from 0 to 100), got 1.5",
)
c.fails("quantile of nothing", "(quantile (zeros [0]) 0.5)", "quantile: there is no quantile of nothing")
c.fails(
    "quantile by an unknown method",
    "(quantile [1 2] 0.5 :method :best)",
    "quantile: unknown :method :best. Known: :linear :lower :higher :midpoint :nearest :hazen "
    ":weibull :interpolated-inverted-cdf :median-unbiased :normal-unbiased",
)
c.fails("quantile along no axis", "(median [1 2] :axis 3)", "median -> axis 3 out of bounds for 1D tensor")
c.text(
    "dtypes of quantiles",
    "(map dtype (list (median (arange 5) :axis 0) (median [1 2] :bf16 :axis 0) (quantile (cast [1 2] :f64) [0.5])))",
    "[:f32, :bf16, :f64]",
)
small = rng.integers(0, 3, (4, 6)).astype(float)
m = stats.mode(small, axis=1)
c.value("mode", f"(mode {program(small)} :axis 1)", m.mode)
c.value("mode and its counts", f"(second (mode {program(small)} :axis 1 :counts true))", m.count)
c.value("mode of all", f"(mode {program(small)})", stats.mode(small, axis=None).mode)
for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nanmedian"):
    f = getattr(np, name)
    for axis in (None, 0, 1):
        o = "" if axis is None else f" :axis {axis}"
        c.value(f"{name}, axis {axis}", f"({name} {program(holes)}{o})", f(holes, axis=axis))
    c.value(f"{name} of NaN alone", f"({name} [nan nan])", f(np.array([nan, nan])))
    if name != "nanprod":
        c.value(
            f"{name}, keepdims", f"({name} {program(holes)} :axis 0 :keepdims true)", f(holes, axis=0, keepdims=True)
        )
c.value("nanvar, ddof", f"(nanvar {program(holes)} :axis 0 :ddof 1)", np.nanvar(holes, axis=0, ddof=1))
c.value("nanargmax", f"(nanargmax {program(holes)} :axis 0)", np.nanargmax(holes, axis=0))
c.value("nanargmin", f"(nanargmin {program(holes)})", np.nanargmin(holes))
c.value("nancumsum", f"(nancumsum {program(holes)} :axis 1)", np.nancumsum(holes, axis=1))
h = [1.0, nan, 3.0, -2.0]
for name in ("nansum", "nanmean", "nanvar", "nanmax"):
    f = getattr(np, name)
    c.function(
        name,
        f"({name} (concat x [nan]))",
        lambda v, f=f: f(np.append(v, nan)),
        [1.0, 3.0, -2.0],
        derivatives=1 if name == "nanmax" else 2,
    )
for ddof in (0, 1, 1.5):
    c.value(f"var, ddof {ddof}", f"(var {program(x)} :axis 0 :ddof {ddof})", np.var(x, axis=0, ddof=ddof))
    c.value(f"std of all, ddof {ddof}", f"(std {program(x)} :ddof {ddof})", np.std(x, ddof=ddof))
c.text("var of one element, ddof 1", "(var [3] :ddof 1)", "NaN")
c.function("std, ddof 1", "(std x :ddof 1)", lambda v: np.std(v, ddof=1), [1.0, 5.0, 2.5, -3.0])
w = rng.integers(1, 5, 4).astype(float)
c.value("average", f"(average {program(x)} :axis 0 :weights {program(w)})", np.average(x, axis=0, weights=w))
c.value("average of all", f"(average {program(x)} :weights {program(x * x)})", np.average(x, weights=x * x))
c.function("average", "(average x :weights [1 2 3])", lambda v: np.average(v, weights=[1, 2, 3]), [1.0, 5.0, 2.5])
c.value("ptp", f"(ptp {program(x)} :axis 1)", np.ptp(x, axis=1))
c.value("count-nonzero", f"(count-nonzero {program(small)} :axis 0)", np.count_nonzero(small, axis=0))
c.text("count-nonzero of all", f"(count-nonzero {program(small)})", str(np.count_nonzero(small)))
c.value("cov", f"(cov {program(x)})", np.cov(x))
c.value("cov of columns, ddof 0", f"(cov {program(x)} :columns true :ddof 0)", np.cov(x, rowvar=False, ddof=0))
c.value("cov with y", f"(cov {program(x[0])} :y {program(x[1])})", np.cov(x[0], x[1]))
wide = np.array([1.0, 2.0, 0.5, 3.0, 1.0])
c.value("cov with weights", f"(cov {program(x)} :weights {program(wide)})", np.cov(x, aweights=wide))
c.value("corrcoef", f"(corrcoef {program(x)})", np.corrcoef(x))
c.function("cov", "(cov x)", np.cov, [[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]])
c.fails("cov of a cube", "(cov (ones [2 2 2]))", "cov: expected variables as the rows of a matrix, got shape [2, 2, 2]")
data = grid(30)
for o, k in [
    ("", {}),
    (":bins 4", {"bins": 4}),
    (":bins 5 :range [-1 1]", {"bins": 5, "range": (-1, 1)}),
    (":bins [-2 -0.5 0 1.5]", {"bins": [-2, -0.5, 0, 1.5]}),
    (":bins 3 :density true", {"bins": 3, "density": True}),
]:
    counts, edges = np.histogram(data, **k)
    c.value(f"histogram {o}", f"(first (histogram {program(data)} {o}))", counts)
    c.value(f"edges of histogram {o}", f"(second (histogram {program(data)} {o}))", edges)
c.value(
    "histogram with weights",
    f"(first (histogram {program(data)} :bins 4 :weights {program(abs(data))}))",
    np.histogram(data, 4, weights=abs(data))[0],
)
c.value("histogram-bin-edges", "(histogram-bin-edges [1 2 5] :bins 3 :range [0 6])", [0, 2, 4, 6])
c.value("histogram of one value", "(second (histogram [3 3] :bins 2))", np.histogram([3, 3], 2)[1])
c.value("histogram of nothing", "(first (histogram (zeros [0]) :bins 2))", [0, 0])
c.value("histogram with NaN", "(first (histogram [1 nan 2] :bins 2 :range [0 3]))", [1, 1])
c.fails(
    "histogram with edges that go down",
    "(histogram [1] :bins [2 1])",
    "histogram: the edges of :bins must go up, got [2. 1.]",
)
c.fails(
    "histogram with half a bin",
    "(histogram [1] :bins 1.5)",
    "histogram: :bins must be a whole number of at least 1, got 1.5",
)
counts = rng.integers(0, 6, 20)
c.value("bincount", f"(bincount {program(counts)})", np.bincount(counts))
c.value(
    "bincount with weights",
    f"(bincount {program(counts)} :weights {program(data[:20])})",
    np.bincount(counts, data[:20]),
)
c.value("bincount, minlength", "(bincount [1 1] :minlength 4)", np.bincount([1, 1], minlength=4))
c.value("bincount, length", "(bincount [1 1 9 -1] :length 3)", [0, 2, 0])
c.value("bincount of nothing", "(bincount (zeros [0]))", np.zeros(0))
c.fails("bincount of fractions", "(bincount [0.5])", "bincount: expected a whole number, got 0.5")
for right in (False, True):
    for bins in ([-1.5, 0, 0.5, 1], [1, 0.5, 0, -1.5]):
        c.value(
            f"digitize, right {right}, {bins}",
            f"(digitize {program(x)} {program(np.array(bins))} :right {str(right).lower()})",
            np.digitize(x, bins, right=right),
        )
c.text(
    "lists where a tensor is",
    "(list (sum '[1 2]) (mean '[[1 2] [3 4]] :axis 0) (argmax '[1 5 2]) (std '[1 3]) (product '[2 3]))",
    "[3.0, [2. 3.], 1, 1.0, 6.0]",
)

# Arrays made of others

c = file("arrays")
for indexing in ("xy", "ij"):
    for parts in ([np.arange(3.0), np.arange(2.0)], [np.arange(3.0), np.arange(2.0), np.arange(4.0)], [np.arange(3.0)]):
        grids = np.meshgrid(*parts, indexing=indexing)
        c.value(
            f"meshgrid, {indexing}, {len(parts)} axes",
            f"(stack (meshgrid {' '.join(program(p) for p in parts)} :indexing :{indexing}))",
            np.stack(grids),
        )
c.value("logspace", "(logspace -1 2 :n 4 :base 2)", np.logspace(-1, 2, 4, base=2))
c.value("geomspace", "(geomspace -1 -1000 :n 4)", np.geomspace(-1, -1000, 4))
c.fails("geomspace through 0", "(geomspace -1 1)", "geomspace: expected two numbers of one sign, not 0, got -1 and 1")
c.value("tri", "(tri 3 :m 4 :k 1)", np.tri(3, 4, 1))
c.value("vander", "(vander [1 2 3])", np.vander([1, 2, 3]))
c.value("vander, increasing", "(vander [1 2 3] :n 2 :increasing true)", np.vander([1, 2, 3], 2, True))
c.value("vander of no columns", "(vander [1 2] :n 0)", np.vander([1, 2], 0))
c.text(
    "likes",
    "(list (zeros-like (arange 2)) (ones-like [1] :dtype :bool) (full-like [[1 2]] 3) "
    "(full-like '[1 2] 3 :dtype :i32))",
    "[[0 0], [true], [[3. 3.]], [3 3]]",
)
x = grid(2, 3)
for axis in (None, 0, 1):
    o = "" if axis is None else f" :axis {axis}"
    c.value(f"repeat-elements, axis {axis}", f"(repeat-elements {program(x)} 2{o})", np.repeat(x, 2, axis))
    n = [1, 0, 2, 0, 3, 1] if axis is None else [2, 0] if axis == 0 else [0, 3, 1]
    c.value(
        f"repeat-elements by several, axis {axis}",
        f"(repeat-elements {program(x)} {program(np.array(n, float))}{o})",
        np.repeat(x, n, axis),
    )
c.value("repeat-elements 0 times", "(repeat-elements [1 2] 0)", np.zeros(0))
c.function("repeat-elements", "(repeat-elements x 2)", lambda v: np.repeat(v, 2), [1.0, 2.0, 4.0], derivatives=1)
for k in range(-1, 5):
    c.value(f"rot90 {k} times", f"(rot90 {program(x)} :k {k})", np.rot90(x, k))
cube = grid(2, 3, 4)
c.value("rot90 of other axes", f"(rot90 {program(cube)} :axes [2 0])", np.rot90(cube, 1, (2, 0)))
c.value("fliplr and flipud", f"(fliplr (flipud {program(x)}))", np.fliplr(np.flipud(x)))
c.text("ravel", "(list (ravel [[1 2] [3 4]]) (ravel 5))", "[[1. 2. 3. 4.], [5.]]")
c.value("pad-to", "(pad-to [[1 2]] [2 3] :value 7)", [[1, 2, 7], [7, 7, 7]])
for n in (0, 1, 2, 3):
    c.value(f"diff {n} times", f"(diff {program(x)} :n {n})", np.diff(x, n))
c.value("diff along axis 0", f"(diff {program(x)} :axis 0)", np.diff(x, axis=0))
c.value(
    "diff with ends",
    f"(diff {program(x)} :prepend 0 :append {program(x[:, :1])})",
    np.diff(x, prepend=0, append=x[:, :1]),
)
c.text(
    "diff of bools and ints", "(list (diff (> [1 5 6] 3)) (diff (* (arange 4) (arange 4))))", "[[true false], [1 3 5]]"
)
c.function("diff", "(diff x :n 2)", lambda v: np.diff(v, 2), [1.0, 2.0, 4.0, 0.5], derivatives=1)
c.fails("diff along no axis", "(diff [1 2] :axis 1)", "diff: axis 1 out of bounds for 1D tensor")
places = np.array([0.0, 0.5, 2.0, 2.5, 4.0])
y = grid(4, 5)
for order in (1, 2):
    c.value(
        f"sample-gradient, order {order}",
        f"(stack (sample-gradient {program(y)} :edge-order {order}))",
        np.stack(np.gradient(y, edge_order=order)),
    )
    c.value(
        f"sample-gradient at places, order {order}",
        f"(sample-gradient {program(y)} :spacing {program(places)} :axis 1 :edge-order {order})",
        np.gradient(y, places, axis=1, edge_order=order),
    )
c.value(
    "sample-gradient with steps",
    f"(second (sample-gradient {program(y)} :spacing '[2 0.5]))",
    np.gradient(y, 2, 0.5)[1],
)
c.function("sample-gradient", "(sample-gradient x)", np.gradient, [1.0, 2.0, 4.0, 0.5], derivatives=1)
c.fails(
    "sample-gradient of too little",
    "(sample-gradient [1])",
    "sample-gradient: axis 0 has 1 elements, :edge-order 1 needs 2",
)
c.value("trapezoid", f"(trapezoid {program(y)})", np.trapezoid(y))
c.value("trapezoid at places", f"(trapezoid {program(y)} :x {program(places)})", np.trapezoid(y, places))
c.value("trapezoid along axis 0", f"(trapezoid {program(y)} :axis 0 :dx 0.5)", np.trapezoid(y, dx=0.5, axis=0))
c.value("trapezoid of one sample", "(trapezoid [3])", 0)
c.value(
    "cumulative-trapezoid",
    f"(cumulative-trapezoid {program(y)} :axis 0 :initial 0)",
    integrate.cumulative_trapezoid(y, axis=0, initial=0),
)
c.value(
    "cumulative-trapezoid at places",
    f"(cumulative-trapezoid {program(y)} :x {program(places)})",
    integrate.cumulative_trapezoid(y, places),
)
c.function(
    "trapezoid", "(trapezoid x :x [0 1 3])", lambda v: np.trapezoid(v, [0, 1, 3]), [1.0, 2.0, 4.0], derivatives=1
)
xs, ys = np.array([0.0, 1.0, 2.5, 4.0]), np.array([1.0, 3.0, -2.0, 5.0])
at = np.array([-1.0, 0.0, 0.25, 1.0, 2.0, 3.0, 4.0, 9.0])
c.value("interp", f"(interp {program(at)} {program(xs)} {program(ys)})", np.interp(at, xs, ys))
c.value(
    "interp with ends",
    f"(interp {program(at)} {program(xs)} {program(ys)} :left -9 :right 9)",
    np.interp(at, xs, ys, -9, 9),
)
c.value(
    "interp with a period",
    f"(interp {program(at)} {program(xs)} {program(ys)} :period 4.5)",
    np.interp(at, xs, ys, period=4.5),
)
c.value("interp of one point", "(interp [0 1 2] [1] [5])", np.interp([0, 1, 2], [1], [5]))
c.value("interp at NaN", "(interp [nan 1] [0 2] [0 4])", [nan, 2])
c.value("interp of a number", "(interp 0.5 [0 1] [0 10])", 5)
c.function(
    "interp in its values",
    f"(interp [0.25 2 3.5] {program(xs)} x)",
    lambda v: np.interp([0.25, 2, 3.5], xs, v),
    ys,
    derivatives=1,
)
c.function(
    "interp in its places",
    f"(interp x {program(xs)} {program(ys)})",
    lambda v: np.interp(v, xs, ys),
    [0.25, 2.0, 3.5],
    derivatives=1,
)
c.fails(
    "interp of vectors that differ",
    "(interp [1] [0 1] [0 1 2])",
    "interp: expected two vectors of one length, not empty, got shapes [2] and [3]",
)
v = np.arange(6.0)
c.value(
    "select",
    f"(let [v {program(v)}] (select (list (< v 2) (> v 3)) (list v (* v v)) :default 42))",
    np.select([v < 2, v > 3], [v, v * v], 42),
)
c.value(
    "choose",
    "(choose [[0 1] [1 0]] (list [1 2] [[10] [20]]))",
    np.choose([[0, 1], [1, 0]], [np.array([1, 2]), np.array([[10], [20]])]),
)
s = rng.integers(0, 3, (3, 4))
c.value("argwhere", f"(argwhere {program(s)})", np.argwhere(s))
c.value("flatnonzero", f"(flatnonzero {program(s)})", np.flatnonzero(s))
keys = [rng.integers(0, 3, 8) for _ in range(3)]
c.value("lexsort", f"(lexsort {program(keys)})", np.lexsort(keys))
c.value("lexsort of rows", f"(lexsort {program(np.stack(keys))})", np.lexsort(np.stack(keys)))
c.value("unravel-index", "(stack (unravel-index [1 5 23] [2 3 4]))", np.stack(np.unravel_index([1, 5, 23], (2, 3, 4))))
c.value(
    "ravel-index",
    "(ravel-index (list [0 1] [1 2] [3 0]) [2 3 4])",
    np.ravel_multi_index(([0, 1], [1, 2], [3, 0]), (2, 3, 4)),
)
c.fails("unravel-index beyond", "(unravel-index [6] [2 3])", "unravel-index: a place is out of bounds for shape [2, 3]")
for name, f in [
    ("cummax", np.maximum.accumulate),
    ("cummin", np.minimum.accumulate),
    ("logcumsumexp", np.logaddexp.accumulate),
]:
    c.value(f"{name}", f"({name} {program(x)} :axis 1)", f(x, axis=1))
    c.value(f"{name} of all", f"({name} {program(x)})", f(x.ravel()))
    c.function(name, f"({name} x)", f, [1.0, 3.0, 2.0, 5.0, -1.0], derivatives=2 if name == "logcumsumexp" else 1)
c.value("cummax with NaN", "(cummax [1 nan 3])", [1, nan, nan])
c.value("cummin of ints", "(cummin (- (arange 4)))", [0, -1, -2, -3])
c.text(
    "sort :descending",
    "(list (sort [3 1 2] :descending) (argsort [3 1 2] :descending true) (sort '[2 10 1] :descending))",
    "[[3. 2. 1.], [0 2 1], [10, 2, 1]]",
)
for mode in ("edge", "reflect", "symmetric", "wrap"):
    for widths in ([1, 1], [0, 2], [5, 3]):
        c.value(
            f"pad, {mode}, {widths}",
            f"(pad {program(x)} [[1 0] [{widths[0]} {widths[1]}]] :mode :{mode})",
            np.pad(x, [(1, 0), tuple(widths)], mode=mode),
        )
    c.function(
        f"pad, {mode}",
        f"(pad x 2 :mode :{mode})",
        lambda v, m=mode: np.pad(v, 2, mode=m),
        [1.0, 2.0, 4.0],
        derivatives=1,
    )
c.fails("pad by an unknown mode", "(pad [1] 1 :mode :best)", "pad: unknown :mode :best")
c.fails(
    "pad of nothing", "(pad (zeros [0]) 1 :mode :edge)", "pad: axis 0 is empty, and only :constant needs no elements"
)
c.value("put-along-axis", "(put-along-axis [[10 20] [30 40]] [[1] [0]] [[5] [6]] 1)", [[10, 5], [6, 40]])
c.fails(
    "put-along-axis beyond",
    "(put-along-axis [[10 20]] [[2]] 0 1)",
    "put-along-axis: index 2 is out of bounds for axis with size 2",
)
c.text(
    "partition-all",
    "(list (partition-all 2 '[1 2 3]) (partition-all 2 1 '[1 2 3]) (partition-all 4 [1 2]) (partition-all 2 '[]))",
    "[[[1, 2], [3]], [[1, 2], [2, 3], [3]], [[1. 2.]], []]",
)

# Dates

c = file("dates")
DATES = [
    "1970-01-01",
    "2024-02-29",
    "1999-12-31 23:59:59",
    "2000-03-01T00:00:00Z",
    "1900-02-28T12:00",
    "0001-01-01",
    "9999-12-31T06:07:08.25",
    "2024-02-29T12:30:00+05:30",
    "2024-02-29T12:30:00-0800",
    "1969-07-20T20:17:40Z",
]
stamps = []
for text in DATES:
    t = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    t = t if t.tzinfo else t.replace(tzinfo=datetime.timezone.utc)
    stamps.append(int((t.replace(microsecond=0) - EPOCH).total_seconds()))
    c.text(f"parse-date {text}", f'(parse-date "{text}")', str(stamps[-1]))
c.text(
    "parse-date of a list",
    "(equal? (parse-date '["
    + " ".join(f'"{t}"' for t in DATES)
    + "]) (tensor '["
    + " ".join(map(str, stamps))
    + "] :dtype :i64))",
    "true",
)
for name, f in (
    ("year", lambda t: t.year),
    ("month", lambda t: t.month),
    ("day", lambda t: t.day),
    ("hour", lambda t: t.hour),
    ("minute", lambda t: t.minute),
    ("second", lambda t: t.second),
    ("weekday", lambda t: t.weekday()),
    ("yearday", lambda t: t.timetuple().tm_yday),
):
    want = [f(EPOCH + datetime.timedelta(seconds=s)) for s in stamps]
    c.value(f"date-parts, {name}", f"(:{name} (date-parts (tensor '[{' '.join(map(str, stamps))}] :dtype :i64)))", want)
for s in stamps:
    text = (EPOCH + datetime.timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    c.text(f"date-str {s}", f"(list (date-str {s}) (= (parse-date (date-str {s})) {s}))", f"['{text}', true]")
for text in (
    "2023-02-29",
    "2024-13-01",
    "2024-00-10",
    "yesterday",
    "2024-02-29T25:00",
    "2024-02-29x10:00",
    "",
    "2024/02-29",
):
    c.fails(
        f"parse-date of {text or 'nothing'}",
        f'(parse-date "{text}")',
        f"parse-date: expected a date like 2024-02-29 or 2024-02-29T12:30:00Z, got {text}",
    )

# Sets

c = file("sets")
a = rng.integers(0, 8, 12).astype(float)
b = rng.integers(2, 12, 9).astype(float)
values, index, inverse, counts = np.unique(a, return_index=True, return_inverse=True, return_counts=True)
u = f"(unique {program(a)} :index true :inverse true :counts true)"
for key, want in (("values", values), ("index", index), ("inverse", inverse), ("counts", counts)):
    c.value(f"unique, {key}", f"(:{key} {u})", want)
m = rng.integers(0, 2, (6, 2)).astype(float)
for axis in (0, 1):
    values, index, inverse, counts = np.unique(
        m.T if axis else m, axis=axis, return_index=True, return_inverse=True, return_counts=True
    )
    u = f"(unique {program(m.T if axis else m)} :axis {axis} :index true :inverse true :counts true)"
    for key, want in (("values", values), ("index", index), ("inverse", inverse.ravel()), ("counts", counts)):
        c.value(f"unique along axis {axis}, {key}", f"(:{key} {u})", want)
c.value("unique with NaN", "(unique [nan 1 nan -inf 1])", [-inf, 1, nan])
c.value("unique of nothing", "(unique (zeros [0]))", np.zeros(0))
c.text(
    "unique of ints, bools, texts",
    "(list (unique (cast [3 1 3] :i64)) (unique (> [1 5 6] 3)) (unique '[:b :a :b]) (unique '[]))",
    "[[1 3], [false true], [:a, :b], []]",
)
c.value("inverse keeps the shape", "(:inverse (unique [[3 1] [3 2]] :inverse true))", [[2, 0], [2, 1]])
for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
    f = getattr(np, name)
    c.value(name, f"({name} {program(a)} {program(b)})", f(a, b))
    c.value(f"{name} with nothing", f"({name} {program(a)} (zeros [0]))", f(a, np.zeros(0)))
    c.value(f"{name} of ints and floats", f"({name} (arange 4) [2 2.5])", f(np.arange(4), [2, 2.5]))
c.text(
    "isin",
    f"(isin {program(a.reshape(3, 4))} {program(b)})",
    np.array2string(np.isin(a.reshape(3, 4), b))
    .replace("True", "true")
    .replace("False", "false")
    .replace(" [ ", " [")
    .replace("[ ", "[")
    .replace("  ", " "),
)
c.text(
    "isin, the other way",
    "(list (isin [1 2] [2] :invert true) (isin 3 [1 3]) (isin [1 nan] [nan 1]) (isin [1 2] (zeros [0])))",
    "[[true false], true, [true false], [false false]]",
)

# Segments

c = file("segments")
data, ids = rng.permutation(14).reshape(7, 2) / 4 - 1.5, np.array([2, 0, 2, 2, 4, 0, 1])


def segments(f, init, n=5):
    def run(v):
        out = np.full((n,) + v.shape[1:], init, float)
        for k, i in enumerate(ids):
            out[i] = f(out[i], v[k])
        return out

    return run


SEGMENTS = {
    "segment-sum": segments(np.add, 0),
    "segment-prod": segments(np.multiply, 1),
    "segment-max": segments(np.maximum, -inf),
    "segment-min": segments(np.minimum, inf),
    "segment-mean": lambda v: segments(np.add, 0)(v) / np.maximum(np.bincount(ids, minlength=5), 1)[:, None],
}
# Functions that write into the segments, and their errors.
WRITES = {
    "segment-sum": "scatter-add",
    "segment-prod": "scatter-mul",
    "segment-max": "scatter-max",
    "segment-min": "scatter-min",
    "segment-mean": "scatter-add",
}
for name, f in SEGMENTS.items():
    c.value(name, f"({name} {program(data)} {program(ids)})", f(data))
    c.value(
        f"{name}, more segments",
        f"({name} {program(data)} {program(ids)} :num-segments 7)",
        np.concatenate(
            [f(data), np.full((2, 2), {"segment-max": -inf, "segment-min": inf, "segment-prod": 1}.get(name, 0))]
        ),
    )
    clean = lambda v, f=f: np.where(np.isinf(f(v)), 0, f(v))
    c.function(
        f"{name} of floats",
        f"(let [y ({name} x {program(ids)} :num-segments 5)] (where (isinf y) 0 y))",
        clean,
        data,
        derivatives=1 if "m" in name[8:10] and name[8:11] in ("max", "min") else 2,
    )
    c.text(f"{name} of nothing", f"(dims ({name} (zeros [0 2]) (zeros [0]) :num-segments 3))", "[3, 2]")
    c.fails(
        f"{name} beyond",
        f"({name} [1 2] [0 3] :num-segments 2)",
        f"{name} -> {WRITES[name]}: index 3 is out of bounds for axis with size 2",
    )
c.text(
    "segments of ints and bools",
    "(list (segment-max (arange 4) [0 0 2 2]) (segment-sum (> [1 5 6] 3) [0 1 1]) (segment-min (arange 2) [1 1]))",
    "[[          1 -2147483648           3], [0 2], [2147483647          0]]",
)
e = np.exp(data)
c.value("segment-softmax", f"(segment-softmax {program(data)} {program(ids)})", e / segments(np.add, 0)(e)[ids])
c.fails(
    "segments without ids",
    "(segment-sum [1 2] [0])",
    "segment-sum: expected one id for each item of axis 0, got shapes [1] and [2]",
)
c.fails("segments of fractions", "(segment-sum [1 2] [0.5 1])", "segment-sum: expected a whole number, got 0.5")
base, places, u = np.array([1.5, -0.5, 2.0, 0.25]), np.array([3, 1, 3, 0]), np.array([-1.0, 0.75, 1.25, 3.0])
for name, f in [("max", np.maximum), ("min", np.minimum), ("mul", np.multiply)]:

    def run(x, v, f=f):
        out = np.array(x, float)
        f.at(out, places, v)
        return out

    for form in (f"(scatter-{name} %s {program(places)} %s)", f"(at-{name} %s %s {program(places)})"):
        order = form % (program(base), program(u))
        c.value(f"{form.split()[0][1:]}", order, run(base, u))
        c.function(
            f"{form.split()[0][1:]} in the updates",
            form % (program(base), "x"),
            lambda v: run(base, v),
            u,
            derivatives=1,
        )
        c.function(
            f"{form.split()[0][1:]} in the array", form % ("x", program(u)), lambda v: run(v, u), base, derivatives=1
        )
    rows, w = grid(3, 2), grid(2, 2)
    out = rows.copy()
    f.at(out, (slice(None), 1), w[0, 0])
    c.value(f"at-{name} of a column", f"(at-{name} {program(rows)} {number(w[0, 0])} : 1)", out)
    c.value(
        f"at-{name} under a mask",
        f"(let [x {program(rows)}] (at-{name} x {number(w[0, 0])} (> x 0)))",
        np.where(rows > 0, f(rows, w[0, 0]), rows),
    )
c.text(
    "the gradient of scatter-mul with zeros",
    "((grad (fn [u] (sum (* [1 2] (scatter-mul [1 1] [0 0 1 1 1] u))))) [0 3 0 0 5])",
    "[3. 0. 0. 0. 0.]",
)
c.text(
    "scatter of ints and bools",
    "(list (scatter-max (arange 3) [0] (cast [9] :i32)) (scatter-mul (> [1 5] 3) [1] (> [1] 3)))",
    "[[9 1 2], [false false]]",
)
c.text(
    "scatter-max along an axis", "(scatter-max (zeros [2 3]) [2 0] [[1 2] [3 4]] :axis 1)", "[[2. 0. 1.]\n [4. 0. 3.]]"
)
