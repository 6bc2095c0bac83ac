#!/usr/bin/env python3
"""PyTorch's side of ./x bench ops-wide: rows of the same names and inputs as in bench/programs/ops_wide.shf, in the
same order, written as a competent PyTorch user would.

  peer_torch_ops.py BUDGET MODE THREADS ROW…    BUDGET: milliseconds for each row; MODE: eager or compile

Prints a line of JSON for each row as soon as it is measured: {"work", "mode", "ms", "first_ms", "answers"}, or {"work",
"mode", "error"}. Each answer is what answer() says of a leaf of the result.
"""

import functools
import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

# --- inputs ---------------------------------------------------------------------------------
# Each is described by a function of a seed, which is its position among the inputs of its row.


@functools.lru_cache(maxsize=4)  # neighbours among the rows share shapes
def noise(shape, seed):
    """Whole numbers below 2^24 that look random, the same on both sides: int64 arithmetic modulo a prime."""
    prime = 2147483647
    i = torch.arange(math.prod(shape)) + seed * 16777619
    a = (i * 48271 + 11) % prime
    b = (a * a + i) % prime
    c = (b * b + a) % prime
    return (c // 128).reshape(shape)


def uniform(shape, seed):
    return (noise(shape, seed) - 8388608).float() / 8388608


def f32(*shape):
    return lambda seed: uniform(shape, seed)


def f64(*shape):
    return lambda seed: uniform(shape, seed).double()


def scaled(factor, *shape):
    return lambda seed: factor * uniform(shape, seed)


def unit(*shape):
    return lambda seed: (noise(shape, seed) + 1).float() / 16777216


def near_one(*shape):
    return lambda seed: 1 + uniform(shape, seed) / 1024


def bf16(*shape):
    return lambda seed: uniform(shape, seed).bfloat16()


def i64(high, *shape):
    return lambda seed: noise(shape, seed) % high


def i32(high, *shape):
    return lambda seed: (noise(shape, seed) % high).int()


ids = i64  # i32 on the other side: each uses its usual index type


def bools(high, *shape):
    return lambda seed: noise(shape, seed) % high == 0


def shuffled(n):
    return lambda seed: (torch.arange(n) * 1103515245 + 12345) % n


def near_identity(*shape):
    return lambda seed: torch.eye(shape[-1]) + uniform(shape, seed) / 32


def positive(*shape):
    def make(seed):
        a = uniform(shape, seed)
        return torch.eye(shape[-1]) + (a + a.mT) / 64

    return make


def steps_to_one(n):
    return lambda seed: torch.arange(n, dtype=torch.int32) / float(n)


def key(seed):
    """PyTorch's generator is hidden."""


def number(x):
    return lambda seed: x


def many(*parts):
    return lambda seed: [make(16 * seed + i) for i, make in enumerate(parts)]


def window(length, size):
    """A mask: each position sees itself and the size - 1 before it."""
    back = torch.arange(length)[:, None] - torch.arange(length)
    return lambda seed: (back >= 0) & (back < size)


class T:
    """A matrix that PyTorch wants transposed."""

    def __init__(self, make):
        self.make = make

    def __call__(self, seed):
        return self.make(seed).t().contiguous()


def int8_columns(rows, columns):
    """8 bits with a scale for each column: there is no product with finer groups."""

    def make(seed):
        w = uniform((rows, columns), seed).t().contiguous()
        scales, zeros = w.abs().amax(1).double() / 127, torch.zeros(columns, dtype=torch.int64)
        w = torch.quantize_per_channel(w, scales, zeros, 0, torch.qint8)
        return torch.ops.quantized.linear_prepack(w, None)

    return make


def int4_groups(rows, columns, size=32):
    """4 bits with scales in bf16: in f32 the product takes ten times as long."""

    def make(seed):
        w = uniform((rows, columns), seed).t().reshape(columns, -1, size)
        scales = w.abs().amax(2, keepdim=True) / 7
        q = ((w / scales).round() + 8).int().reshape(columns, rows)
        pairs = torch.stack([scales[..., 0].t(), torch.zeros(rows // size, columns)], -1)
        return [torch.ops.aten._convert_weight_to_int4pack_for_cpu(q, 1), pairs.bfloat16().contiguous()]

    return make


# --- rows -----------------------------------------------------------------------------------
ROWS = {}  # name -> kind, inputs, function, further facts


def row(name, inputs, f, first_only=False):
    ROWS[name] = ("forward", inputs, f, {"first_only": first_only})


def both(name, inputs, f, wrt=None):
    """Also the gradient by all inputs of floating point, which come first, or by the first `wrt`."""
    row(name, inputs, f)
    ROWS[name + "+grad"] = ("gradient", inputs, f, {"wrt": wrt})


def steps(name, inputs, optimizer):
    """optimizer(fused, *inputs) gives an optimizer whose parameters have their gradients."""
    ROWS[name] = ("steps", inputs, optimizer, {})


gelu = functools.partial(F.gelu, approximate="tanh")
mul_add = lambda a, b, c: torch.addcmul(c, a, b)
square = (2048, 2048)
wide = (4096, 1024)

both("elementwise/gelu-64x64", [f32(64, 64)], gelu)
both("elementwise/gelu", [f32(*square)], gelu)
both("elementwise/gelu-bf16", [bf16(*square)], gelu)
both("elementwise/gelu-erf", [f32(*square)], F.gelu)
both("elementwise/silu", [f32(*square)], F.silu)
both("elementwise/swiglu", [f32(*square), f32(*square)], lambda a, b: F.silu(a) * b)
both("elementwise/mul-add-64x64", [f32(64, 64), f32(64, 64), f32(64, 64)], mul_add)
both("elementwise/mul-add", [f32(*square), f32(*square), f32(*square)], mul_add)
both("elementwise/mul-add-bf16", [bf16(*square), bf16(*square), bf16(*square)], lambda a, b, c: a * b + c)
row("elementwise/mul-add-i32", [i32(1000, *square), i32(1000, *square), i32(1000, *square)], mul_add)
row("elementwise/mul-add-i64", [i64(1000, *square), i64(1000, *square), i64(1000, *square)], mul_add)
both("elementwise/chain", [f32(*square), f32(*square)], lambda x, y: x.tanh() * y.sigmoid() + (-(x * x)).exp())
both("elementwise/column-times-row", [f32(4096, 1), f32(1, 4096)], torch.mul)
both("elementwise/add-row", [f32(*wide), f32(1024)], torch.add)
both("elementwise/times-column", [f32(*wide), f32(4096, 1)], torch.mul)
both("elementwise/where", [f32(*square), f32(*square)], lambda x, y: torch.where(x > 0.25, x, y))
both("elementwise/clip", [f32(*square)], lambda x: x.clamp(-0.5, 0.5))
both("elementwise/relu", [f32(*square)], F.relu)
both("elementwise/exp", [f32(*square)], torch.exp)
row("elementwise/exp-64x64", [f32(64, 64)], torch.exp)
both("elementwise/log", [unit(*square)], torch.log)
both("elementwise/tanh", [f32(*square)], torch.tanh)
row("elementwise/tanh-bf16", [bf16(*square)], torch.tanh)
both("elementwise/erf", [f32(*square)], torch.erf)
both("elementwise/sigmoid", [f32(*square)], torch.sigmoid)
both("elementwise/softplus", [f32(*square)], F.softplus)
both("elementwise/sin", [scaled(8.0, *square)], torch.sin)
row("elementwise/cos", [scaled(8.0, *square)], torch.cos)
row("elementwise/tan", [f32(*square)], torch.tan)
row("elementwise/atan2", [f32(*square), f32(*square)], torch.atan2)
row("elementwise/asin", [f32(*square)], torch.asin)
row("elementwise/sinh", [f32(*square)], torch.sinh)
row("elementwise/log1p", [unit(*square)], torch.log1p)
row("elementwise/expm1", [f32(*square)], torch.expm1)
row("elementwise/sqrt", [unit(*square)], torch.sqrt)
row("elementwise/one-over-sqrt", [unit(*square)], torch.rsqrt)
both("elementwise/power", [unit(*square)], lambda x: x**2.5)
row("elementwise/cube", [f32(*square)], lambda x: x**3)
both("elementwise/divide", [f32(*square), unit(*square)], torch.div)
row("elementwise/abs", [f32(*square)], torch.abs)
row("elementwise/sign", [f32(*square)], torch.sign)
row("elementwise/floor", [scaled(8.0, *square)], torch.floor)
row("elementwise/round", [scaled(8.0, *square)], torch.round)
row("elementwise/mod", [f32(*square)], lambda x: x % 0.25)
row("elementwise/mod-i32", [i32(100000, *square)], lambda x: x % 7)
row("elementwise/floor-div-i32", [i32(100000, *square), i32(100, *square)], lambda a, b: a // (b + 1))
both("elementwise/maximum", [f32(*square), f32(*square)], torch.maximum)
row("elementwise/less", [f32(*square), f32(*square)], torch.lt)
row("elementwise/between", [f32(*square)], lambda x: (x > -0.5) & (x < 0.5))
row("elementwise/logical-xor", [bools(2, *square), bools(2, *square)], torch.logical_xor)
row("elementwise/isnan", [f32(*square)], torch.isnan)
row("elementwise/bool-to-f32", [bools(2, *square)], lambda x: x.float())
row("elementwise/f32-to-bf16", [f32(*square)], lambda x: x.bfloat16())
row("elementwise/bf16-to-f32", [bf16(*square)], lambda x: x.float())
row("elementwise/f32-to-i32", [scaled(1000.0, *square)], lambda x: x.int())
row("elementwise/i32-to-f32", [i32(1000000, *square)], lambda x: x.float())

both_of_wide = [f32(*wide), f32(*wide)]
row("reduce/sum-all", [f32(*square)], torch.sum)
row("reduce/sum-all-64x64", [f32(64, 64)], torch.sum)
row("reduce/sum-all-bf16", [bf16(*square)], torch.sum)
row("reduce/sum-last", [f32(*wide)], lambda x: x.sum(-1))
row("reduce/sum-first", [f32(*wide)], lambda x: x.sum(0))
row("reduce/sum-last-i32", [i32(1000, *wide)], lambda x: x.sum(-1))
row("reduce/sum-last-of-2", [f32(2097152, 2)], lambda x: x.sum(-1))
row("reduce/sum-last-of-3", [f32(1398101, 3)], lambda x: x.sum(-1))
row("reduce/sum-last-of-8", [f32(524288, 8)], lambda x: x.sum(-1))
row("reduce/sum-first-of-2", [f32(2, 2097152)], lambda x: x.sum(0))
row("reduce/sum-long-rows", [f32(16, 262144)], lambda x: x.sum(-1))
row("reduce/sum-long-columns", [f32(262144, 16)], lambda x: x.sum(0))
row("reduce/sum-of-channels", [f32(32, 64, 56, 56)], lambda x: x.sum((0, 2, 3)))
row("reduce/mean-middle", [f32(64, 128, 512)], lambda x: x.mean(1))
row("reduce/mean-last-bf16", [bf16(*wide)], lambda x: x.mean(-1))
both("reduce/max-last", [f32(*wide)], lambda x: x.amax(-1))
row("reduce/max-first", [f32(*wide)], lambda x: x.amax(0))
row("reduce/max-all", [f32(*square)], torch.max)
row("reduce/max-last-of-2", [f32(2097152, 2)], lambda x: x.amax(-1))
row("reduce/max-last-of-8", [f32(524288, 8)], lambda x: x.amax(-1))
row("reduce/max-last-bf16", [bf16(*wide)], lambda x: x.amax(-1))
row("reduce/max-last-i32", [i32(1000000, *wide)], lambda x: x.amax(-1))
row("reduce/min-long-rows", [f32(16, 262144)], lambda x: x.amin(-1))
row("reduce/argmax-last", [f32(*wide)], lambda x: x.argmax(-1))
row("reduce/argmax-first", [f32(*wide)], lambda x: x.argmax(0))
row("reduce/argmax-all", [f32(*square)], torch.argmax)
row("reduce/argmax-last-of-3", [f32(1398101, 3)], lambda x: x.argmax(-1))
row("reduce/argmin-last-50257", [f32(64, 50257)], lambda x: x.argmin(-1))
both("reduce/var-last", [f32(*wide)], lambda x: x.var(-1, correction=0))
row("reduce/var-first", [f32(*wide)], lambda x: x.var(0, correction=0))
row("reduce/std-all", [f32(*square)], lambda x: x.std(correction=0))
both("reduce/logsumexp-last", [f32(*wide)], lambda x: x.logsumexp(-1))
row("reduce/logsumexp-first", [f32(*wide)], lambda x: x.logsumexp(0))
both("reduce/norm-all", [f32(*square)], torch.linalg.vector_norm)
row("reduce/norm-last", [f32(*wide)], lambda x: torch.linalg.vector_norm(x, dim=-1))
row("reduce/norm-1-last", [f32(*wide)], lambda x: torch.linalg.vector_norm(x, 1, dim=-1))
row("reduce/product-last", [near_one(65536, 64)], lambda x: x.prod(-1))
row("reduce/any-last", [bools(1024, *wide)], lambda x: x.any(-1))
row("reduce/any-first", [bools(4096, *wide)], lambda x: x.any(0))
row("reduce/all-last", [bools(1, *wide)], lambda x: x.all(-1))
row("reduce/all-positive", [unit(*square)], lambda x: (x > 0).all())
row("reduce/count-positive", [f32(*square)], lambda x: (x > 0).sum())
row("reduce/dot", [f32(4194304), f32(4194304)], torch.dot)
both("reduce/mse", both_of_wide, F.mse_loss)
both("reduce/cosine-similarity", both_of_wide, lambda a, b: F.cosine_similarity(a, b, dim=-1))


def softmax(x):
    return x.softmax(-1)


def layer_norm(x, g, b):
    return F.layer_norm(x, g.shape, g, b)


def rms_norm(x, g):
    return F.rms_norm(x, g.shape, g, 1e-6)


both("norm/softmax", [f32(*wide)], softmax)
row("norm/softmax-64x64", [f32(64, 64)], softmax)
both("norm/softmax-of-8", [f32(131072, 8)], softmax)
row("norm/softmax-of-50257", [f32(64, 50257)], softmax)
row("norm/softmax-first", [f32(1024, 4096)], lambda x: x.softmax(0))
both("norm/softmax-scores", [f32(8, 8, 128, 128)], softmax)
row("norm/softmax-bf16", [bf16(*wide)], softmax)
both("norm/log-softmax", [f32(*wide)], lambda x: x.log_softmax(-1))
both("norm/layer-norm", [f32(4096, 768), f32(768), f32(768)], layer_norm)
both("norm/layer-norm-512x64", [f32(512, 64), f32(64), f32(64)], layer_norm)
row("norm/layer-norm-bf16", [bf16(4096, 768), bf16(768), bf16(768)], layer_norm)
both("norm/rms-norm", [f32(*wide), f32(1024)], rms_norm)
row("norm/rms-norm-1x4096", [f32(1, 4096), f32(4096)], rms_norm)
both(
    "norm/batch-norm-train",
    [f32(16, 64, 56, 56), f32(64), f32(64)],
    lambda x, g, b: F.batch_norm(x, None, None, g, b, training=True),
)
row(
    "norm/batch-norm-eval",
    [f32(16, 64, 56, 56), f32(64), f32(64), f32(64), unit(64)],
    lambda x, g, b, m, v: F.batch_norm(x, m, v, g, b),
)
both("norm/group-norm", [f32(8, 64, 64, 64), f32(64), f32(64)], lambda x, g, b: F.group_norm(x, 8, g, b))

both("loss/cross-entropy-50257", [f32(256, 50257), ids(50257, 256)], F.cross_entropy)
both("loss/cross-entropy-150000", [f32(64, 150000), ids(150000, 64)], F.cross_entropy)
both("loss/cross-entropy-10", [f32(8192, 10), ids(10, 8192)], F.cross_entropy)
both(
    "loss/cross-entropy-smooth",
    [f32(256, 50257), ids(50257, 256)],
    lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1),
)
row(
    "loss/cross-entropy-ignore",
    [f32(4096, 1000), ids(1000, 4096)],
    lambda x, y: F.cross_entropy(x, y, ignore_index=7),
)
both("loss/bce", [f32(*wide), unit(*wide)], F.binary_cross_entropy_with_logits, wrt=1)
both("loss/huber", [scaled(4.0, *wide), f32(*wide)], F.huber_loss)
row("loss/accuracy", [f32(8192, 1000), ids(1000, 8192)], lambda x, y: (x.argmax(-1) == y).float().mean())


def linear_relu(x, w, b):
    return F.relu(F.linear(x, w, b))


def mlp(x, w1, b1, w2, b2):
    return F.linear(gelu(F.linear(x, w1, b1)), w2, b2)


def int4_product(x, q):
    return torch.ops.aten._weight_int4pack_mm_for_cpu(x, q[0], 32, q[1])


for n in [64, 128, 256, 512, 1024]:
    row(f"matmul/square-{n}", [f32(n, n), f32(n, n)], torch.matmul)
both("matmul/256x1024x1024", [f32(256, 1024), f32(1024, 1024)], torch.matmul)
both("matmul/nt-512", [f32(512, 512), f32(512, 512)], lambda a, b: a @ b.T)
row("matmul/tn-512", [f32(512, 512), f32(512, 512)], lambda a, b: a.T @ b)
row("matmul/odd-333x777x555", [f32(333, 777), f32(777, 555)], torch.matmul)
both("matmul/batch-1024-of-16", [f32(1024, 16, 16), f32(1024, 16, 16)], torch.bmm)
both("matmul/batch-64-of-64", [f32(64, 64, 64), f32(64, 64, 64)], torch.bmm)
row("matmul/batch-4096-of-4", [f32(4096, 4, 4), f32(4096, 4, 4)], torch.bmm)
row("matmul/scores-einsum", [f32(8, 8, 128, 64), f32(8, 8, 128, 64)], lambda q, k: q @ k.mT)
row("matmul/thin-4096x1024x8", [f32(4096, 1024), f32(1024, 8)], torch.matmul)
row("matmul/few-rows-8x1024x4096", [f32(8, 1024), f32(1024, 4096)], torch.matmul)
row("matmul/short-k-1024x8x1024", [f32(1024, 8), f32(8, 1024)], torch.matmul)
row("matmul/long-k-64x65536x64", [f32(64, 65536), f32(65536, 64)], torch.matmul)
row("matmul/row-4096x4096", [f32(1, 4096), f32(4096, 4096)], torch.matmul)
row("matmul/row-nt-4096x4096", [f32(1, 4096), f32(4096, 4096)], lambda x, w: x @ w.T)
row("matmul/matrix-vector-4096", [f32(4096, 4096), f32(4096)], torch.mv)
row("matmul/vectors-1M", [f32(1048576), f32(1048576)], torch.dot)
row("matmul/outer-2048", [f32(2048), f32(2048)], torch.outer)
row("matmul/bf16-512", [bf16(512, 512), bf16(512, 512)], torch.matmul)
both("matmul/bf16-256x1024x1024", [bf16(256, 1024), bf16(1024, 1024)], torch.matmul)
row("matmul/bf16-row-4096x4096", [bf16(1, 4096), bf16(4096, 4096)], torch.matmul)
row("matmul/i32-256", [i32(100, 256, 256), i32(100, 256, 256)], torch.matmul)
row("matmul/i64-256", [i64(100, 256, 256), i64(100, 256, 256)], torch.matmul)
both("matmul/linear-relu", [f32(256, 1024), T(scaled(0.03125, 1024, 4096)), f32(4096)], linear_relu)
both(
    "matmul/mlp-784-512-10",
    [f32(64, 784), T(scaled(0.03125, 784, 512)), f32(512), T(scaled(0.03125, 512, 10)), f32(10)],
    mlp,
)
row("matmul/q8-row-4096x4096", [f32(1, 4096), int8_columns(4096, 4096)], torch.ops.quantized.linear_dynamic)
row("matmul/q8-32x4096x4096", [f32(32, 4096), int8_columns(4096, 4096)], torch.ops.quantized.linear_dynamic)
row("matmul/q4-row-4096x4096", [bf16(1, 4096), int4_groups(4096, 4096)], int4_product)
row("matmul/q4-32x4096x4096", [bf16(32, 4096), int4_groups(4096, 4096)], int4_product)

# ResNet-18, MobileNet and U-Net: name, channels, size, kernels, size of a kernel, stride, padding, groups.
LAYERS = [
    ("7x7s2-3-64-224", 3, 224, 64, 7, 2, 3, 1),
    ("3x3-64-64-56", 64, 56, 64, 3, 1, 1, 1),
    ("3x3s2-64-128-56", 64, 56, 128, 3, 2, 1, 1),
    ("1x1-256-64-56", 256, 56, 64, 1, 1, 0, 1),
    ("3x3-512-512-7", 512, 7, 512, 3, 1, 1, 1),
    ("depthwise-3x3-128-56", 128, 56, 128, 3, 1, 1, 128),
    ("unet-3x3-64-64-128", 64, 128, 64, 3, 1, 1, 1),
]
for batch in [1, 8]:
    for name, channels, size, kernels, k, stride, padding, groups in LAYERS:
        both(
            f"conv/{name}-b{batch}",
            [f32(batch, channels, size, size), scaled(0.0625, kernels, channels // groups, k, k)],
            functools.partial(F.conv2d, stride=stride, padding=padding, groups=groups),
        )
both(
    "conv/3x3-bias-relu-64-64-56-b8",
    [f32(8, 64, 56, 56), scaled(0.0625, 64, 64, 3, 3), f32(64)],
    lambda x, w, b: F.relu(F.conv2d(x, w, b, padding=1)),
)
row(
    "conv/dilated-3x3-64-64-56-b8",
    [f32(8, 64, 56, 56), scaled(0.0625, 64, 64, 3, 3)],
    functools.partial(F.conv2d, padding=2, dilation=2),
)
both("conv/lenet-5x5-1-6-28-b64", [f32(64, 1, 28, 28), f32(6, 1, 5, 5)], functools.partial(F.conv2d, padding=2))
both(
    "conv/transpose-2x2s2-64-32-64-b8",
    [f32(8, 64, 64, 64), scaled(0.0625, 64, 32, 2, 2)],
    functools.partial(F.conv_transpose2d, stride=2),
)
both(
    "conv/1d-k3-64-64-1024-b8",
    [f32(8, 64, 1024), scaled(0.0625, 64, 64, 3)],
    functools.partial(F.conv1d, padding=1),
)
both(
    "conv/1d-k9-256-256-512-b1",
    [f32(1, 256, 512), scaled(0.0625, 256, 256, 9)],
    functools.partial(F.conv1d, padding=4),
)
both(
    "conv/1d-causal-depthwise-k4-512-1024-b8",
    [f32(8, 512, 1024), f32(512, 1, 4)],
    lambda x, w: F.conv1d(F.pad(x, (3, 0)), w, groups=512),
)

both("pool/max-2x2", [f32(8, 64, 112, 112)], lambda x: F.max_pool2d(x, 2))
both("pool/max-3x3s2", [f32(8, 64, 112, 112)], lambda x: F.max_pool2d(x, 3, 2, 1))
both("pool/average-2x2", [f32(8, 64, 112, 112)], lambda x: F.avg_pool2d(x, 2))
row("pool/average-3x3s1", [f32(8, 64, 56, 56)], lambda x: F.avg_pool2d(x, 3, 1, 1))
row("pool/global-average", [f32(32, 512, 7, 7)], lambda x: x.mean((2, 3)))
row("pool/max-1d", [f32(8, 64, 8192)], lambda x: F.max_pool1d(x, 4))
both("pool/upsample-2", [f32(8, 64, 64, 64)], lambda x: F.interpolate(x, scale_factor=2))


@torch.compiler.disable
def uncompiled(f, *inputs):
    """As torch.compile treats the layers of torch.nn: it would unroll the steps, minutes of work for no gain."""
    return f(*inputs)


def recurrent(layer, x, *weights):
    """The functions that torch.nn.RNN, GRU and LSTM call, over [time, batch, features], from a state of zeros."""
    layers, training = len(weights) // 4, torch.is_grad_enabled()
    state = x.new_zeros(layers, x.shape[1], weights[1].shape[1])
    state = (state, state) if layer is torch.lstm else state
    inputs = x, state, weights, True, layers, 0.0, training, False, False
    return (uncompiled(layer, *inputs) if training else layer(*inputs))[0]


def zeros(n):
    return lambda seed: torch.zeros(n)


def weights(gates):
    """By the input and by the state, and the bias of the input."""
    return [T(scaled(0.0625, 256, gates * 256)), T(scaled(0.0625, 256, gates * 256)), f32(gates * 256)]


for batch in [8, 64]:  # the other side has no bias of the state but for a GRU: here it is zeros, without a gradient
    x = f32(64, batch, 256)
    both(f"rnn/rnn-b{batch}", [x, *weights(1), zeros(256)], functools.partial(recurrent, torch.rnn_tanh), wrt=4)
    both(f"rnn/gru-b{batch}", [x, *weights(3), f32(768)], functools.partial(recurrent, torch.gru))
    both(f"rnn/lstm-b{batch}", [x, *weights(4), zeros(1024)], functools.partial(recurrent, torch.lstm), wrt=4)
    both(
        f"rnn/lstm-2-layers-b{batch}",
        [x, *weights(4), *weights(4), zeros(1024)],
        lambda x, w, u, b, w2, u2, b2, zero: recurrent(torch.lstm, x, w, u, b, zero, w2, u2, b2, zero),
        wrt=7,
    )

attention = F.scaled_dot_product_attention
causal = functools.partial(attention, is_causal=True)


def heads(batch, n, length):
    return f32(batch, n, length, 64)


def qkv(batch, length):
    return [heads(batch, 12, length)] * 3


both("attention/causal-128-b8", qkv(8, 128), causal)
both("attention/causal-512", qkv(1, 512), causal)
both("attention/causal-1024", qkv(1, 1024), causal)
both("attention/full-128-b8", qkv(8, 128), attention)
both("attention/full-512", qkv(1, 512), attention)
row("attention/full-1024", qkv(1, 1024), attention)
row("attention/causal-512-bf16", [bf16(1, 12, 512, 64)] * 3, causal)
row("attention/window-256-of-1024", [*qkv(1, 1024), window(1024, 256)], attention)
for length in [128, 512, 1024]:
    row(f"attention/decode-{length}", [heads(1, 12, 1), heads(1, 12, length), heads(1, 12, length)], attention)
row("attention/decode-1024-b16", [heads(16, 12, 1), heads(16, 12, 1024), heads(16, 12, 1024)], attention)
row(
    "attention/decode-grouped-1024",
    [heads(1, 32, 1), heads(1, 8, 1024), heads(1, 8, 1024)],
    functools.partial(attention, enable_gqa=True),
)


def encoder(x, g1, b1, wqkv, bqkv, wo, bo, g2, b2, w1, c1, w2, c2):
    """A layer of width 512, with 8 heads and 2048 features inside; the norm comes first."""
    q, k, v = F.linear(layer_norm(x, g1, b1), wqkv, bqkv).unflatten(-1, (3, 8, 64)).permute(2, 0, 3, 1, 4).unbind(0)
    x = x + F.linear(attention(q, k, v).transpose(1, 2).flatten(2), wo, bo)
    return x + F.linear(gelu(F.linear(layer_norm(x, g2, b2), w1, c1)), w2, c2)


def encoder_inputs(batch, length):
    width = f32(512)
    into, out = [T(scaled(0.0625, 512, 1536)), f32(1536)], [T(scaled(0.0625, 512, 512)), width]
    up, down = [T(scaled(0.0625, 512, 2048)), f32(2048)], [T(scaled(0.0625, 2048, 512)), width]
    return [f32(batch, length, 512), width, width, *into, *out, width, width, *up, *down]


row("encoder/1-token-b1", encoder_inputs(1, 1), encoder)
row("encoder/1-token-b32", encoder_inputs(32, 1), encoder)
row("encoder/16-tokens-b1", encoder_inputs(1, 16), encoder)
both("encoder/16-tokens-b32", encoder_inputs(32, 16), encoder)
both("encoder/128-tokens-b1", encoder_inputs(1, 128), encoder)
row("encoder/128-tokens-b8", encoder_inputs(8, 128), encoder)


def rows_of(table, i):
    return F.embedding(i, table)


def one_hot(i):
    return torch.zeros(len(i), 256).scatter_(1, i[:, None], 1)


both("embedding/50257x768-b8x128", [f32(50257, 768), ids(50257, 8, 128)], rows_of)
both("embedding/1000x64-b64x256", [f32(1000, 64), ids(1000, 64, 256)], rows_of)
row("embedding/100000x64-262144-ids", [f32(100000, 64), ids(100000, 262144)], rows_of)
both(
    "embedding/bag-50000x64-4096x32",
    [f32(50000, 64), ids(50000, 4096, 32)],
    lambda table, i: F.embedding_bag(i, table, mode="mean"),
)
row("embedding/one-hot-65536x256", [ids(256, 65536)], one_hot)


def with_places(x, v, i):
    y = x.clone()
    y[i] = v
    return y


row("index/take-1M-of-4M", [f32(4194304), ids(4194304, 1048576)], lambda x, i: x[i])
row("index/take-4M-of-1000", [f32(1000), ids(1000, 4194304)], lambda x, i: x[i])
both("index/take-rows", [f32(65536, 64), ids(65536, 131072)], lambda x, i: x.index_select(0, i))
both("index/take-columns", [f32(*wide), ids(1024, 512)], lambda x, i: x.index_select(1, i))
both("index/along-last", [f32(*wide), ids(1024, *wide)], lambda x, i: x.gather(-1, i))
row("index/along-first", [f32(*wide), ids(4096, *wide)], lambda x, i: x.gather(0, i))
both("index/one-of-each-row", [f32(65536, 100), ids(100, 65536, 1)], lambda x, i: x.gather(-1, i))
row("index/pairs-1M", [f32(*square), ids(2048, 1048576), ids(2048, 1048576)], lambda x, i, j: x[i, j])
both("index/add-rows", [f32(65536, 64), f32(131072, 64), ids(65536, 131072)], lambda x, v, i: x.index_add(0, i, v))
row("index/add-4M-to-1M", [f32(1048576), f32(4194304), ids(1048576, 4194304)], lambda x, v, i: x.scatter_add(0, i, v))
row("index/histogram-4M-256", [ids(256, 4194304)], lambda i: i.bincount(minlength=256))
row("index/set-1M-of-4M", [f32(4194304), f32(1048576), shuffled(1048576)], with_places)
row("index/masked-select-4M", [f32(4194304)], lambda x: x[x > 0])
row("index/masked-fill-4M", [f32(*square), bools(3, *square)], lambda x, m: x.masked_fill(m, -1e9))
row("index/nonzero-4M", [bools(3, 4194304)], lambda x: x.nonzero()[:, 0])

for n in [10000, 100000, 1000000, 10000000]:
    row(f"sort/sort-{n}", [f32(n)], lambda x: x.sort().values)
row("sort/sort-falling-1000000", [f32(1000000)], lambda x: x.sort(descending=True).values)
row("sort/sort-i32-1000000", [i32(1000000, 1000000)], lambda x: x.sort().values)
row("sort/sort-sorted-1000000", [steps_to_one(1000000)], lambda x: x.sort().values)
both("sort/sort-rows-1000x1000", [f32(1000, 1000)], lambda x: x.sort().values)
row("sort/sort-rows-of-8", [f32(131072, 8)], lambda x: x.sort().values)
row("sort/sort-columns", [f32(1000, 1000)], lambda x: x.sort(0).values)
row("sort/argsort-10000", [f32(10000)], lambda x: x.argsort(stable=True))
row("sort/argsort-1000000", [f32(1000000)], lambda x: x.argsort(stable=True))
row("sort/argsort-rows-1000x1000", [f32(1000, 1000)], lambda x: x.argsort(stable=True))
row("sort/top-10-of-1000000", [f32(1000000)], lambda x: x.topk(10))
both("sort/top-50-of-rows-50257", [f32(64, 50257)], lambda x: x.topk(50).values)
row("sort/top-2-of-rows-64", [f32(16384, 64)], lambda x: x.topk(2))
row("sort/searchsorted-1M-in-1M", [steps_to_one(1048576), unit(1048576)], torch.searchsorted)
row("sort/searchsorted-1M-in-1000", [steps_to_one(1000), unit(1048576)], torch.searchsorted)

both("running/cumsum-1M", [f32(1048576)], lambda x: x.cumsum(0))
row("running/cumsum-10M", [f32(10000000)], lambda x: x.cumsum(0))
both("running/cumsum-last", [f32(*wide)], lambda x: x.cumsum(-1))
both("running/cumsum-first", [f32(*wide)], lambda x: x.cumsum(0))
row("running/cumsum-i32-1M", [i32(100, 1048576)], lambda x: x.cumsum(0))
row("running/cumsum-last-of-8", [f32(524288, 8)], lambda x: x.cumsum(-1))
both("running/cumprod-1M", [near_one(1048576)], lambda x: x.cumprod(0))
both("running/cumprod-last", [near_one(*wide)], lambda x: x.cumprod(-1))

row("random/uniform-4M", [key], lambda key: torch.rand(square))
row("random/uniform-1000", [key], lambda key: torch.rand(1000))
row("random/normal-4M", [key], lambda key: torch.randn(square))
row("random/truncated-normal-4M", [key], lambda key: torch.nn.init.trunc_normal_(torch.empty(square), a=-2.0, b=2.0))
row("random/randint-4M", [key], lambda key: torch.randint(1000, square, dtype=torch.int32))
row("random/bernoulli-4M", [key], lambda key: torch.empty(square, dtype=torch.bool).bernoulli_(0.25))
row("random/permutation-1M", [key], lambda key: torch.randperm(1048576))
row("random/categorical-4096x1000", [f32(4096, 1000), key], lambda x, key: x.softmax(-1).multinomial(1)[:, 0])
both("random/dropout-4M", [unit(*square), key], lambda x, key: F.dropout(x, 0.1))

add_transpose = lambda x, y: x.t() + y
row("layout/add-transpose-2048", [f32(*square), f32(*square)], add_transpose)
row("layout/add-transpose-4096", [f32(4096, 4096), f32(4096, 4096)], add_transpose)
row("layout/add-transpose-1000x3000", [f32(1000, 3000), f32(3000, 1000)], add_transpose)
row("layout/add-transpose-bf16-2048", [bf16(*square), bf16(*square)], add_transpose)
row("layout/add-swapped-heads", [f32(8, 512, 12, 64), f32(8, 12, 512, 64)], lambda x, y: x.transpose(1, 2) + y)
row("layout/add-channels-last", [f32(32, 64, 56, 56), f32(32, 56, 56, 64)], lambda x, y: x.permute(0, 2, 3, 1) + y)
row("layout/add-channels-first", [f32(32, 56, 56, 64), f32(32, 64, 56, 56)], lambda x, y: x.permute(0, 3, 1, 2) + y)
row("layout/add-reversed-axes", [f32(64, 64, 64, 16), f32(16, 64, 64, 64)], lambda x, y: x.permute(3, 2, 1, 0) + y)
row("layout/merge-heads", [f32(8, 12, 512, 64)], lambda x: x.transpose(1, 2).flatten(2))
both("layout/concat-first", [f32(2048, 1024), f32(2048, 1024)], lambda a, b: torch.cat([a, b]))
both("layout/concat-last", [f32(4096, 512), f32(4096, 512)], lambda a, b: torch.cat([a, b], -1))
row("layout/concat-8", [f32(512, 1024)] * 8, lambda *parts: torch.cat(parts))
row("layout/stack-16-last", [f32(512, 512)] * 16, lambda *parts: torch.stack(parts, -1))


def split_and_join(x):
    a, b, c = x.chunk(3, -1)
    return torch.addcmul(c, a, b)


def with_rows(x, v):
    y = x.clone()
    y[100:164] = v
    return y


def with_columns(x, v):
    y = x.clone()
    y[:, 100:164] = v
    return y


def added_to_columns(x, v):
    y = x.clone()
    y[:, 100:164] += v
    return y


both("layout/split-3-and-join", [f32(4096, 768)], split_and_join)
both("layout/pad-images", [f32(16, 64, 56, 56)], lambda x: F.pad(x, (1, 1, 1, 1)))
row("layout/pad-rows", [f32(4096, 1000)], lambda x: F.pad(x, (0, 24)))
both("layout/roll-last", [f32(*square)], lambda x: x.roll(100, -1))
row("layout/roll-flat", [f32(*square)], lambda x: x.roll(1000))
row("layout/add-flip-last", [f32(*square)], lambda x: x + x.flip(-1))
row("layout/add-flip-first", [f32(*square)], lambda x: x + x.flip(0))
row("layout/tile-4x4", [f32(512, 512)], lambda x: x.tile(4, 4))
row("layout/repeat-rows", [f32(1024, 1024)], lambda x: x.repeat_interleave(4, 0))
row("layout/tril-2048", [f32(*square)], torch.tril)
row("layout/every-second", [f32(4096, 2048)], lambda x: 2 * x[:, ::2])
row("layout/every-second-row", [f32(4096, 2048)], lambda x: 2 * x[::2])
both("layout/slice-inside", [f32(*square)], lambda x: 2 * x[100:1900, 100:1900])
row("layout/set-rows", [f32(*wide), f32(64, 1024)], with_rows)
row("layout/set-columns", [f32(*wide), f32(4096, 64)], with_columns)
row("layout/add-to-slice", [f32(*wide), f32(4096, 64)], added_to_columns)
row("layout/windows", [f32(65536)], lambda x: x.unfold(0, 32, 1).contiguous())
row("layout/differences", [f32(4096, 1025)], lambda x: x.diff(dim=1))
row("layout/range-4M", [number(4194304)], lambda n: torch.arange(n, dtype=torch.int32))


def singular(a):
    u, s, vt = torch.linalg.svd(a, full_matrices=False)
    return s, u, vt


for n in [64, 100, 200, 500, 1000]:
    row(f"linalg/cholesky-{n}", [positive(n, n)], torch.linalg.cholesky)
    row(f"linalg/inv-{n}", [near_identity(n, n)], torch.linalg.inv)
    row(f"linalg/solve-{n}", [near_identity(n, n), f32(n, 16)], torch.linalg.solve)
    row(f"linalg/det-{n}", [near_identity(n, n)], torch.linalg.det)
    row(f"linalg/qr-{n}", [near_identity(n, n)], torch.linalg.qr)
    row(f"linalg/eigh-{n}", [positive(n, n)], torch.linalg.eigh, first_only=True)
    row(f"linalg/svd-{n}", [near_identity(n, n)], singular, first_only=True)


def wide(make):
    """In f64, far from singular."""

    def far(seed):
        a = make(seed).double()
        return 4 * torch.eye(len(a), dtype=torch.float64) + a

    return far


for n in [100, 500, 2000]:
    row(f"linalg/cholesky-f64-{n}", [wide(positive(n, n))], torch.linalg.cholesky)
    row(f"linalg/inv-f64-{n}", [wide(near_identity(n, n))], torch.linalg.inv)
    columns = f32(n, 16)
    row(
        f"linalg/solve-f64-{n}",
        [wide(near_identity(n, n)), lambda seed, columns=columns: columns(seed).double()],
        torch.linalg.solve,
    )
    row(f"linalg/qr-f64-{n}", [wide(near_identity(n, n))], torch.linalg.qr)
    row(f"linalg/eigh-f64-{n}", [wide(positive(n, n))], torch.linalg.eigh, first_only=True)
for n in [16, 32]:
    row(f"linalg/cholesky-batch-64-of-{n}", [positive(64, n, n)], torch.linalg.cholesky)
    row(f"linalg/solve-batch-64-of-{n}", [near_identity(64, n, n), f32(64, n, 4)], torch.linalg.solve)
    row(f"linalg/inv-batch-64-of-{n}", [near_identity(64, n, n)], torch.linalg.inv)
    row(f"linalg/qr-batch-64-of-{n}", [near_identity(64, n, n)], torch.linalg.qr)
both("linalg/solve-grad-200", [near_identity(200, 200), f32(200, 16)], torch.linalg.solve)
both("linalg/cholesky-batch-256-of-16", [positive(256, 16, 16)], torch.linalg.cholesky)
row("linalg/solve-batch-256-of-16", [near_identity(256, 16, 16), f32(256, 16, 4)], torch.linalg.solve)
row("linalg/inv-batch-4096-of-4", [near_identity(4096, 4, 4)], torch.linalg.inv)
row("linalg/eigh-batch-64-of-32", [positive(64, 32, 32)], torch.linalg.eigh, first_only=True)
row("linalg/svd-1000x50", [f32(1000, 50)], singular, first_only=True)
row("linalg/qr-1000x50", [f32(1000, 50)], torch.linalg.qr)


def rfft(x):
    return torch.view_as_real(torch.fft.rfft(x))


def irfft(x):
    return torch.fft.irfft(torch.view_as_complex(x))


def fft(x, **options):
    return torch.view_as_real(torch.fft.fft(torch.view_as_complex(x), **options))


def fft2(x):
    return torch.view_as_real(torch.fft.fft2(torch.view_as_complex(x)))


def stft(x, window):
    return torch.view_as_real(torch.stft(x, 400, 160, window=window, return_complex=True))


for n in [64, 1000, 1024, 4093, 4096, 65536, 1048576]:
    both(f"fft/rfft-{n}", [f32(n)], rfft)
    both(f"fft/fft-{n}", [f32(n, 2)], fft)
    row(f"fft/rfft-f64-{n}", [f64(n)], rfft)
    row(f"fft/fft-f64-{n}", [f64(n, 2)], fft)
row("fft/rfft-1000000", [f32(1000000)], rfft)
both("fft/rfft-256x1024", [f32(256, 1024)], rfft)
both("fft/fft-256x1024", [f32(256, 1024, 2)], fft)
row("fft/fft-f64-256x1024", [f64(256, 1024, 2)], fft)
row("fft/rfft-64x400", [f32(64, 400)], rfft)
row("fft/irfft-4096", [f32(2049, 2)], irfft)
row("fft/irfft-256x1024", [f32(256, 513, 2)], irfft)
both("fft/rfft2-512", [f32(512, 512)], lambda x: torch.view_as_real(torch.fft.rfft2(x)))
both("fft/fft2-512", [f32(512, 512, 2)], fft2)
row("fft/fft2-f64-512", [f64(512, 512, 2)], fft2)
row("fft/fft-first-axis-512", [f32(512, 512, 2)], lambda x: fft(x, dim=0))
both("fft/stft-16x16000", [f32(16, 16000), f32(400)], stft, wrt=1)

SIZES = [(512,), (512,), (512, 1536), (1536,), (512, 512), (512,), (512,), (512,), (512, 2048), (2048,), (2048, 512)]
SIZES.append((512,))
block = many(*(f32(*size) for size in SIZES))
block_moments = many(*(unit(*size) for size in SIZES))
small = many(*[f32(64, 64)] * 24)


def with_gradients(params, grads):
    for p, g in zip(params, grads):
        p.grad = g
    return params


def adamw(fused, params, grads, means, squares, step):
    optimizer = torch.optim.AdamW(with_gradients(params, grads), 1e-3, weight_decay=0.1, fused=fused)
    for p, m, v in zip(params, means, squares):
        optimizer.state[p] = {"step": torch.tensor(float(step)), "exp_avg": m, "exp_avg_sq": v}
    return optimizer


def momentum(fused, params, grads, buffers):
    optimizer = torch.optim.SGD(with_gradients(params, grads), 1e-3, momentum=0.9, fused=fused)
    for p, b in zip(params, buffers):
        optimizer.state[p] = {"momentum_buffer": b}
    return optimizer


def sgd(fused, params, grads):
    return torch.optim.SGD(with_gradients(params, grads), 1e-3, fused=fused)


def clipped(grads):
    factor = (1 / (torch.nn.utils.get_total_norm(grads) + 1e-6)).clamp(max=1)
    return torch._foreach_mul(grads, factor)


steps("optimizer/adamw-3M", [block, block, block, block_moments, number(0)], adamw)
steps("optimizer/momentum-3M", [block, block, block], momentum)
steps("optimizer/sgd-24-of-64x64", [small, small], sgd)
row("optimizer/global-norm-3M", [block], torch.nn.utils.get_total_norm)
row("optimizer/clip-by-global-norm-3M", [block], clipped)


# --- run ------------------------------------------------------------------------------------
def leaves(y):
    return [leaf for part in y for leaf in leaves(part)] if isinstance(y, (tuple, list)) else [y]


def answer(y):
    """Its sum, the sum of magnitudes, and the sum weighted by position."""
    y = y.detach().reshape(-1).double()
    factors = (torch.arange(len(y)) * 7919 % 1009).double() / 1009
    return [y.sum().item(), y.abs().sum().item(), torch.dot(y, factors).item()]


def wrapped(f, mode):
    if mode == "eager":
        return f
    torch._dynamo.reset()
    return torch.compile(f, dynamic=False)


def forward(f, inputs, mode, first_only):
    call = torch.inference_mode()(wrapped(f, mode))
    return lambda: call(*inputs), lambda y: leaves(y)[: 1 if first_only else None]


def gradient(f, inputs, mode, wrt, described):
    n = wrt or sum(isinstance(x, torch.Tensor) and x.is_floating_point() for x in inputs)
    xs = [x.requires_grad_() for x in inputs[:n]]
    with torch.no_grad():
        y = f(*inputs)
    factors = uniform(y.shape, 99).to(y.dtype) if y.dim() else None
    call = wrapped(f, mode)
    turned = [isinstance(make, T) for make in described[:n]]
    return (
        lambda: torch.autograd.grad(call(*inputs), xs, factors),
        lambda grads: [g.t() if t else g for g, t in zip(grads, turned)],
    )


def stepping(optimizer, inputs, mode):
    step = wrapped(optimizer(mode == "eager", *inputs).step, mode)
    return step, lambda _: inputs[0]


def prepared(name, mode):
    """The timed function, and the function that turns its result into the leaves of the answer."""
    if name not in ROWS:
        raise LookupError("there is no such row")
    kind, described, f, more = ROWS[name]
    inputs = [make(i + 1) for i, make in enumerate(described)]
    if kind == "forward":
        return forward(f, inputs, mode, **more)
    if kind == "gradient":
        return gradient(f, inputs, mode, more["wrt"], described)
    return stepping(f, inputs, mode)


def clock(call):
    start = time.perf_counter()
    y = call()
    return (time.perf_counter() - start) * 1e3, y


def measured(name, mode, budget):
    torch.manual_seed(0)
    call, answered = prepared(name, mode)
    first_ms, _ = clock(call)
    call()
    answers = [answer(leaf) for leaf in answered(call())]
    spent = 0
    while spent < 100:
        spent += clock(call)[0]
    times = []
    while len(times) < 5 or sum(times) < budget:
        times.append(clock(call)[0])
    return {"ms": statistics.median(times), "first_ms": first_ms, "answers": answers}


def main():
    budget, mode, threads, *names = sys.argv[1:]
    torch.set_num_threads(int(threads))
    for name in names:
        try:
            found = measured(name, mode, float(budget))
        except Exception as e:  # a row that fails here is a row too
            found = {"error": f"{type(e).__name__}: {str(e).strip()[:200]}"}
        print(json.dumps({"work": name, "mode": mode, **found}), flush=True)


main()
