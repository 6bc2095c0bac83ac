"""Checks the recipes of docs/design/random.md against jax: each is written out in numpy and must give jax's values.

Run by hand after a change of jax: pip install jax, then python test/scalar/random_recipes.py
"""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
np.seterr(over="ignore")
assert jax.config.jax_threefry_partitionable
U32, F32 = np.uint32, np.float32


def threefry(key, x0, x1):
    rotations = ((13, 15, 26, 6), (17, 29, 16, 24))
    k = [U32(key[0]), U32(key[1])]
    k.append(k[0] ^ k[1] ^ U32(0x1BD11BDA))
    x0, x1 = np.asarray(x0, U32) + k[0], np.asarray(x1, U32) + k[1]
    for group in range(5):
        for r in rotations[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << U32(r)) | (x1 >> U32(32 - r))) ^ x0
        x0 = x0 + k[(group + 1) % 3]
        x1 = x1 + k[(group + 2) % 3] + U32(group + 1)
    return x0, x1


def words(key, shape):
    index = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
    return threefry(key, (index >> np.uint64(32)).astype(U32), index.astype(U32))


def key_of(seed):
    s = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    return np.array([s >> np.uint64(32), s & np.uint64(0xFFFFFFFF)], U32)


def split(key, n=2):
    return np.stack(words(key, (n,)), -1)


def fold_in(key, data):
    return np.array(threefry(key, 0, U32(data & 0xFFFFFFFF)))


def bits(key, shape, width):
    a, b = words(key, shape)
    if width == 64:
        return (a.astype(np.uint64) << np.uint64(32)) | b.astype(np.uint64)
    return (a ^ b).astype({32: U32, 16: np.uint16, 8: np.uint8}[width])


def unit(key, shape, dtype):
    dtype = np.dtype(dtype)
    width, shift, scale = {
        "float32": (32, 9, 23),
        "float64": (64, 12, 52),
        "float16": (16, 6, 10),
        "bfloat16": (8, 1, 7),
    }[dtype.name]
    b = bits(key, shape, width)
    return np.ldexp((b >> b.dtype.type(shift)).astype(np.float64), -scale).astype(dtype)  # exact


def uniform(key, shape, dtype=F32, lo=0.0, hi=1.0):
    u, lo, hi = unit(key, shape, dtype), np.asarray(lo).astype(dtype), np.asarray(hi).astype(dtype)
    span = (hi - lo).astype(dtype)
    if np.dtype(dtype).name == "bfloat16":  # the product is rounded; elsewhere product and sum are fused
        moved = (u * span).astype(dtype) + lo
    else:
        moved = u.astype(np.longdouble) * span + lo.astype(np.longdouble)
    return np.maximum(lo, moved.astype(dtype))


def normal(key, shape, dtype=F32):
    t = np.dtype(dtype)
    lo = np.nextafter(np.array(-1, t), np.array(0, t))
    v = uniform(key, shape, t, lo, 1.0)
    return (np.asarray(np.sqrt(2)).astype(t) * np.asarray(jax.lax.erf_inv(jnp.asarray(v)))).astype(t)


def randint(key, shape, lo, hi, dtype):
    t = np.dtype(dtype)
    if t.itemsize < 4:
        info = np.iinfo(t)
        return randint(key, shape, max(lo, info.min), min(hi, int(info.max) + 1), np.int32).astype(t)
    width, info = t.itemsize * 8, np.iinfo(t)
    u = {32: U32, 64: np.uint64}[width]
    above = hi > info.max
    lo, hi = (int(np.clip(v, info.min, info.max)) for v in (lo, hi))
    k1, k2 = split(key)
    high, low = bits(k1, shape, width), bits(k2, shape, width)
    span = 1 if hi <= lo else hi - lo + (1 if above else 0)
    if span == 1 << width:
        offset = low  # the remainder by 0 leaves its argument, and the multiplier is 0
    else:
        span = u(span)
        m = u(u(1 << (width // 2)) % span)
        m = u(m * m) % span
        offset = ((high % span) * m + low % span) % span  # wraps modulo 2^width
    return (offset + u(lo % (1 << width))).astype(t)


def bernoulli(key, p, shape):
    return uniform(key, shape, F32) < F32(p)


def gumbel(key, shape, dtype=F32):
    u = uniform(key, shape, dtype, np.finfo(dtype).tiny, 1.0)
    return -np.log(-np.log(u.astype(np.float64)))


def categorical(key, logits, prefix=()):
    return np.argmax(gumbel(key, (*prefix, *logits.shape)) + logits, -1)


def permutation(key, x):
    rounds = int(np.ceil(3 * np.log(max(1, x.size)) / np.log(0xFFFFFFFF)))
    for _ in range(rounds):
        key, sub = split(key)
        x = x[np.argsort(bits(sub, x.shape, 32), kind="stable")]
    return x


def truncated_normal(key, lo, hi, shape):
    root2 = F32(np.sqrt(2))
    a, b = (np.asarray(jax.lax.erf(F32(v) / root2)) for v in (lo, hi))
    out = root2 * np.asarray(jax.lax.erf_inv(jnp.asarray(uniform(key, shape, F32, a, b))))
    return np.clip(out, np.nextafter(F32(lo), F32(np.inf)), np.nextafter(F32(hi), F32(-np.inf)))


def same(name, ours, theirs, ulps=0, atol=0):
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape, name
    if atol:
        ok = np.abs(ours - theirs) <= atol
    elif ulps:
        t = theirs.astype(np.float64)
        ok = np.abs(ours.astype(np.float64) - t) <= ulps * np.spacing(np.abs(theirs)).astype(np.float64)
    else:
        ok = ours == theirs
    assert np.all(ok), (name, np.argmax(~ok))
    print("ok", name)


R, shape = jax.random, (37, 113)
for seed in (42, 0, -1, 1 << 40):
    same(f"key {seed}", key_of(seed), R.key_data(R.key(seed)))
k, raw = R.key(42), key_of(42)
same("split", split(raw, 7), R.key_data(R.split(k, 7)))
for d in (0, 5, 0xFFFFFFFF):
    same(f"fold_in {d}", fold_in(raw, d), R.key_data(R.fold_in(k, np.uint32(d))))
same("fold_in is a split", fold_in(raw, 3), split(raw, 4)[3])
for w, t in ((8, jnp.uint8), (16, jnp.uint16), (32, jnp.uint32), (64, jnp.uint64)):
    same(f"bits {w}", bits(raw, shape, w), R.bits(k, shape, t))
for t in (jnp.float32, jnp.float64, jnp.bfloat16, jnp.float16):
    same(f"uniform {np.dtype(t).name}", uniform(raw, shape, t), R.uniform(k, shape, t))
    same(f"normal {np.dtype(t).name}", normal(raw, shape, t), R.normal(k, shape, t), ulps=1)
    same(
        f"uniform range {np.dtype(t).name}",
        uniform(raw, shape, t, -0.3, 1.5),
        R.uniform(k, shape, t, -0.3, 1.5),
        ulps=1 if np.dtype(t).name == "float64" and np.finfo(np.longdouble).nmant < 100 else 0,
    )
for t, lo, hi in (
    (jnp.int32, 0, 10),
    (jnp.int32, -7, 1 << 30),
    (jnp.int32, 5, 5),
    (jnp.int32, 5, -5),
    (jnp.int32, -(1 << 31), 1 << 31),
    (jnp.int64, 0, 10),
    (jnp.int64, -(1 << 62), 1 << 62),
    (jnp.int64, -3, 1 << 40),
    (jnp.uint8, 0, 256),
    (jnp.int8, -128, 128),
    (jnp.uint32, 0, 1 << 32),
):
    same(f"randint {np.dtype(t).name} [{lo}, {hi})", randint(raw, shape, lo, hi, t), R.randint(k, shape, lo, hi, t))
same("bernoulli", bernoulli(raw, 0.3, shape), R.bernoulli(k, F32(0.3), shape))
logits = np.linspace(-2, 2, 10, dtype=F32)
same("gumbel", gumbel(raw, shape).astype(F32), R.gumbel(k, shape, jnp.float32), atol=2e-6)
same("categorical", categorical(raw, logits, (100,)), R.categorical(k, logits, shape=(100,)))
same("categorical rows", categorical(raw, np.tile(logits, (6, 1))), R.categorical(k, np.tile(logits, (6, 1))))
for n in (1, 2, 1000, 2000, 5000):
    same(f"permutation {n}", permutation(raw, np.arange(n)), R.permutation(k, n))
matrix = np.arange(60).reshape(20, 3)
same("permutation of rows", matrix[permutation(raw, np.arange(20))], R.permutation(k, matrix))
same("truncated_normal", truncated_normal(raw, -1, 2, shape), R.truncated_normal(k, -1, 2, shape, jnp.float32), ulps=4)
same(
    "exponential",
    -np.log1p(-uniform(raw, shape).astype(np.float64)).astype(F32),
    R.exponential(k, shape, jnp.float32),
    ulps=4,
)
