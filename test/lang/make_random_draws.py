# Writes random_draws.cases: draws as jax.random gives them (jax 0.10.2, 64-bit mode, threefry).
# Usage: python make_random_draws.py > random_draws.cases
import os

os.environ["JAX_ENABLE_X64"] = "1"
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import random

FLOATS = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
INTS = {"i32": np.int32, "i64": np.int64, "u32": np.uint32, "i8": np.int8, "u8": np.uint8}


def case(title, code, y, arrow="=>"):
    y = np.asarray(y)
    ints = y.dtype.kind in "iu"
    items = [
        str(int(v)) if ints else np.format_float_positional(np.float32(v), unique=True, trim="0") for v in y.ravel()
    ]
    get = "int (cast" if ints else "float (cast"
    print(f"--- {title}\n(map {get} (reshape {code} [-1]) {':i64' if ints else ':f32'}))\n{arrow} [{', '.join(items)}]")


print(";;; Draws of every kind and dtype; written by make_random_draws.py.")
for seed in (42, -3):
    key = random.key(seed)
    for name, dtype in FLOATS.items():
        case(
            f"uniform {name}, seed {seed}",
            f"(random-uniform {seed} [5] :dtype :{name})",
            random.uniform(key, (5,), dtype),
        )
        case(
            f"normal {name}, seed {seed}",
            f"(random-normal {seed} [5] :dtype :{name})",
            random.normal(key, (5,), dtype),
            "~>",
        )
        case(
            f"truncated normal {name}, seed {seed}",
            f"(random-truncated-normal {seed} -1 2 [5] :dtype :{name})",
            random.truncated_normal(key, -1, 2, (5,), dtype),
            "~>",
        )
    case(
        f"uniform in a range, seed {seed}",
        f"(random-uniform {seed} [5] :minval -3 :maxval 7.5)",
        random.uniform(key, (5,), np.float32, -3, 7.5),
    )
    for name, lo, hi in (
        ("i32", -7, 100000),
        ("i32", -(2**31), 2**31),
        ("i64", -5, 2**40),
        ("i64", -(2**62), 2**62),
        ("u32", 5, 2**32),
        ("i8", -100, 100),
        ("u8", 0, 256),
    ):
        case(
            f"randint {name} in [{lo}, {hi}), seed {seed}",
            f"(random-randint {seed} [5] {lo} {hi} :dtype :{name})",
            random.randint(key, (5,), lo, hi, INTS[name]),
        )
    case(
        f"permutation of many, seed {seed}",
        f"(slice (random-permutation {seed} 3000) 0 8)",
        random.permutation(key, jnp.arange(3000, dtype=np.int32))[:8],
    )
    rows = jnp.arange(8, dtype=np.int32).reshape(4, 2)
    case(
        f"permutation of rows, seed {seed}",
        f"(random-permutation {seed} (reshape (arange 8) [4 2]))",
        random.permutation(key, rows),
    )
    case(
        f"permutation of columns, seed {seed}",
        f"(random-permutation {seed} (reshape (arange 8) [2 4]) :axis 1)",
        random.permutation(key, rows.reshape(2, 4), axis=1),
    )
    logits = random.normal(random.key(5), (6, 4), np.float32)
    case(
        f"categorical, seed {seed}",
        f"(random-categorical {seed} (random-normal 5 [6 4]))",
        random.categorical(key, logits),
    )
    case(
        f"categorical along axis 0, seed {seed}",
        f"(random-categorical {seed} (random-normal 5 [6 4]) :axis 0)",
        random.categorical(key, logits, axis=0),
    )
    case(
        f"categorical of a shape, seed {seed}",
        f"(random-categorical {seed} [0.1 0.5 2] :shape [7])",
        random.categorical(key, np.array([0.1, 0.5, 2], np.float32), shape=(7,)),
    )
    case(
        f"fold-in of a large number, seed {seed}",
        f"(random-fold-in {seed} 4000000000)",
        random.key_data(random.fold_in(key, 4000000000)),
    )
    case(
        f"sure and impossible events, seed {seed}",
        f"(int (random-bernoulli {seed} [0 0.5 1]))",
        random.bernoulli(key, np.array([0, 0.5, 1], np.float32)).astype(np.int32),
    )
print(r"""--- a categorical draw from a vector is an int
(int? (random-categorical 1 [0 0 0]))
=> true
--- items of a list in random order
(sort (random-permutation 3 (list 3 1 2)))
=> [1, 2, 3]
--- keys by vmap draw the same numbers
(let [keys (random-split 7 3)]
  (equal? ((vmap (fn [k] (random-uniform k [4]))) (stack keys)) (stack (map (fn [k] (random-uniform k [4])) keys))))
=> true
--- a draw that depends on a differentiated number is a constant
((grad (fn [x] (* x (sum (random-uniform (random-fold-in 3 (int x)) [2]))))) 2.0)
~> 0.28538084
--- the bounds of a truncated normal carry a gradient
(> ((grad (fn [a] (sum (random-truncated-normal 1 a 2 [8])))) -1.0) 0)
=> true
--- a float dtype for a uniform draw
(random-uniform 1 [2] :dtype :i32)
!! random-uniform: expected a float dtype, got :i32
--- nothing to choose from
(choice 1 0)
!! choice: nothing to choose from, n is 0
--- no key
(random-normal [1 2] [2])
!! random-normal: expected a key, got f32[2]
!hint random-key""")
