"""Writes distributions.cases: draws of named distributions as jax.random gives them (jax 0.10.2, 64-bit mode). Run by
hand where jax is installed: python3 test/lang/make_distribution_cases.py > test/lang/distributions.cases"""

import os

os.environ["JAX_ENABLE_X64"] = "1"
import jax.numpy as jnp
import numpy as np
from jax import random


def text(x):
    return "[" + " ".join(text(v) for v in x) + "]" if isinstance(x, list) else repr(float(x)).replace("nan", "nan")


def case(title, program, y, exact=False):
    y = np.asarray(y)
    want = text(y.tolist())
    check = f"(equal? (cast x :f64) (tensor '{want} :dtype :f64))" if exact and not np.isnan(y).any() else None
    tensor = f"(tensor '{want} :dtype :f64)" if y.dtype == np.float64 else want
    check = check or f"(is-close x {tensor} :rtol {1e-9 if y.dtype == np.float64 else 2e-5} :atol 1e-6 :equal-nan true)"
    print(f"--- {title}\n(let [x {program}] (list (dtype x) {check}))\n=> [:{NAMES[y.dtype.name]}, true]")


NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}
DTYPES = {"f32": np.float32, "f64": np.float64}
print(";;; Draws of named distributions; written by make_distribution_cases.py.")
for seed in (42, 7):
    key = random.key(seed)
    for d, dtype in DTYPES.items():
        for name in ("exponential", "gumbel", "laplace", "logistic", "cauchy"):
            case(
                f"{name} {d}, seed {seed}",
                f"(random-{name} {seed} '[2 3] :dtype :{d})",
                getattr(random, name)(key, (2, 3), dtype),
            )
        a = [[0.0625, 0.5, 1.0], [2.5, 30.0, 1000.0]]
        o = f":dtype :{d}"
        arr = jnp.array(a, dtype)
        case(f"gamma {d}, seed {seed}", f"(random-gamma {seed} {text(a)} {o})", random.gamma(key, arr, dtype=dtype))
        case(
            f"gamma in a shape {d}, seed {seed}",
            f"(random-gamma {seed} [0.25 4] :shape '[5 2] {o})",
            random.gamma(key, jnp.array([0.25, 4], dtype), (5, 2), dtype),
        )
        case(f"loggamma {d}, seed {seed}", f"(random-loggamma {seed} {text(a)} {o})", random.loggamma(key, arr, dtype=dtype))
        case(
            f"beta {d}, seed {seed}",
            f"(random-beta {seed} [[0.125] [3]] [0.25 1 5] {o})",
            random.beta(key, jnp.array([[0.125], [3]], dtype), jnp.array([0.25, 1, 5], dtype), dtype=dtype),
        )
        case(
            f"dirichlet {d}, seed {seed}",
            f"(random-dirichlet {seed} [0.125 1 5] :shape '[3] {o})",
            random.dirichlet(key, jnp.array([0.125, 1, 5], dtype), (3,), dtype),
        )
        case(
            f"chi-square {d}, seed {seed}",
            f"(random-chi-square {seed} [1 4 40] {o})",
            random.chisquare(key, jnp.array([1, 4, 40], dtype), dtype=dtype),
        )
        case(f"t {d}, seed {seed}", f"(random-t {seed} [1 4 40] {o})", random.t(key, jnp.array([1, 4, 40], dtype), dtype=dtype))
        n, p = [[1, 20], [100, 100000]], [0.05, 0.7]
        case(
            f"binomial {d}, seed {seed}",
            f"(random-binomial {seed} {text(n)} {text(p)} {o})",
            random.binomial(key, jnp.array(n), jnp.array(p, dtype), dtype=dtype),
            True,
        )
        case(
            f"binomial without sense {d}, seed {seed}",
            f"(random-binomial {seed} [-1 5 5 5] [0.5 1.5 0 1] {o})",
            random.binomial(key, jnp.array([-1, 5, 5, 5]), jnp.array([0.5, 1.5, 0, 1], dtype), dtype=dtype),
        )
        case(
            f"multinomial {d}, seed {seed}",
            f"(random-multinomial {seed} [10 1000] [[0.2 0.3 0.5] [0.9 0 0.1]] {o})",
            random.multinomial(
                key, jnp.array([10, 1000], dtype), jnp.array([[0.2, 0.3, 0.5], [0.9, 0, 0.1]], dtype), dtype=dtype
            ),
            True,
        )
        case(
            f"multivariate normal {d}, seed {seed}",
            f"(random-multivariate-normal {seed} [1 2] [[2 1] [1 2]] :shape '[3] {o})",
            random.multivariate_normal(key, jnp.array([1, 2], dtype), jnp.array([[2, 1], [1, 2]], dtype), (3,), dtype),
        )
    # Both kinds of rates at once would depend on rounding: jax.random gives the small ones the rate 1e5 in the loop of
    # the large ones, and its acceptance there, computed in f32, decides how often all of them are drawn.
    for kind, rates in (("small", [0.0, 0.3, 4.0, 9.99]), ("large", [10.0, 50.0, 120.0, 900.0])):
        case(
            f"poisson of {kind} rates, seed {seed}",
            f"(random-poisson {seed} {text(rates)})",
            random.poisson(key, jnp.array(rates), dtype=np.int32),
            True,
        )
    case(
        f"poisson in a shape, seed {seed}",
        f"(random-poisson {seed} 12.5 :shape '[3 4] :dtype :i64)",
        random.poisson(key, 12.5, (3, 4), np.int64),
        True,
    )
    case(
        f"geometric, seed {seed}",
        f"(random-geometric {seed} [0.01 0.3 0.9 1])",
        random.geometric(key, jnp.array([0.01, 0.3, 0.9, 1], np.float32), dtype=np.int32),
        True,
    )
    # jax.random.rademacher draws 64 bits in 64-bit mode, 32 otherwise.
    signs = 2 * random.bernoulli(key, np.float32(0.5), (7,)).astype(np.int32) - 1
    case(f"rademacher, seed {seed}", f"(random-rademacher {seed} '[7])", signs, True)
