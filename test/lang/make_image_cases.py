"""Writes images.cases: resizing, patches, pools and samples of images, activations and norms against PyTorch. Run by
hand where it is installed: python3 test/lang/make_image_cases.py"""

import pathlib

import numpy as np
import torch
import torch.nn.functional as F

from golden_cases import Cases, program

here = pathlib.Path(__file__).parent
torch.set_default_dtype(torch.float64)
rng = np.random.default_rng(3)


def grid(*shape):
    return rng.integers(-16, 17, shape) / 8


def torch_of(f):
    return lambda v: f(torch.tensor(v)).numpy()


def sizes(v):
    return f"[{' '.join(map(str, v))}]"


c = Cases(here / "images.cases", "make_image_cases.py")
x = grid(2, 3, 5, 4)
MODES = [
    (":linear", "bilinear"),
    (":cubic", "bicubic"),
    (":nearest", "nearest"),
    (":nearest-exact", "nearest-exact"),
    (":area", "area"),
]
for ours, theirs in MODES:
    for out in ([7, 9], [3, 2], [5, 4], [1, 1], [10, 2]):
        c.value(
            f"resize, {theirs}, to {out}",
            f"(resize {program(x)} :size {sizes(out)} :method {ours})",
            torch_of(lambda t: F.interpolate(t, out, mode=theirs))(x),
        )
for ours, theirs in MODES[:2]:
    for out in ([7, 9], [3, 2], [1, 3]):
        c.value(
            f"resize, {theirs}, to {out}, corners",
            f"(resize {program(x)} :size {sizes(out)} :method {ours} :align-corners true)",
            torch_of(lambda t: F.interpolate(t, out, mode=theirs, align_corners=True))(x),
        )
        c.value(
            f"resize, {theirs}, to {out}, antialias",
            f"(resize {program(x)} :size {sizes(out)} :method {ours} :antialias true)",
            torch_of(lambda t: F.interpolate(t, out, mode=theirs, antialias=True))(x),
        )
    c.function(
        f"resize, {theirs}",
        f"(resize x :size [3 6] :method {ours})",
        torch_of(lambda t: F.interpolate(t[None, None], (3, 6), mode=theirs)[0, 0]),
        grid(4, 4),
        derivatives=1,
    )
for scale in ([2, 1.5], [0.5, 0.75]):
    for ours, theirs in MODES[:3]:
        c.value(
            f"resize, {theirs}, by {scale}",
            f"(resize {program(x)} :scale {sizes(scale)} :method {ours})",
            torch_of(lambda t: F.interpolate(t, scale_factor=scale, mode=theirs))(x),
        )
c.value(
    "resize of one axis",
    f"(resize {program(x[0])} :size 7)",
    torch_of(lambda t: F.interpolate(t, 7, mode="linear"))(x[0]),
)
c.value(
    "resize of [N, H, W, C]",
    f"(resize {program(x.transpose(0, 2, 3, 1))} :size [3 6] :axes [1 2])",
    torch_of(lambda t: F.interpolate(t, (3, 6), mode="bilinear"))(x).transpose(0, 2, 3, 1),
)
c.text(
    "dtypes of resized images",
    "(map dtype (list (resize [1 2] :bf16 :size 3) (resize (arange 2) :size 3) (resize (arange "
    "2) :size 3 :method :nearest) (resize (cast [1 2] :f64) :size 3)))",
    "[:bf16, :f32, :i32, :f64]",
)
c.fails("resize without a size", "(resize [1 2])", "resize: needs either :size or :scale")
c.fails(
    "resize by an unknown method",
    "(resize [1 2] :size 3 :method :best)",
    "resize: unknown :method :best. Known: :linear :cubic :lanczos :area :nearest :nearest-exact",
)
c.fails("resize of nothing", "(resize (zeros [0]) :size 3)", "resize: from 0 to 3 pixels")

y = grid(2, 8, 3, 2)
c.value("pixel-shuffle", f"(pixel-shuffle {program(y)} 2)", torch_of(lambda t: F.pixel_shuffle(t, 2))(y))
z = grid(2, 2, 4, 6)
c.value("pixel-unshuffle", f"(pixel-unshuffle {program(z)} 2)", torch_of(lambda t: F.pixel_unshuffle(t, 2))(z))
c.fails(
    "pixel-shuffle of too few channels",
    "(pixel-shuffle (ones [1 3 2 2]) 2)",
    "pixel-shuffle: 3 channels are no multiple of 4",
)
for o, k in [
    (":size 2", {"kernel_size": 2}),
    (":size [3 2] :stride [2 1] :padding [1 0]", {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0)}),
    (":size 2 :dilation 2 :padding 1", {"kernel_size": 2, "dilation": 2, "padding": 1}),
]:
    columns = torch_of(lambda t: F.unfold(t, **k))(x)
    c.value(f"unfold {o}", f"(unfold {program(x)} {o})", columns)
    c.value(
        f"fold {o}", f"(fold {program(columns)} :output [5 4] {o})", torch_of(lambda t: F.fold(t, (5, 4), **k))(columns)
    )
c.function(
    "unfold",
    "(unfold (reshape x [1 1 3 3]) :size 2)",
    torch_of(lambda t: F.unfold(t[None, None], 2)),
    grid(3, 3),
    derivatives=1,
)
c.function(
    "fold",
    "(fold (reshape x [1 4 4]) :output [3 3] :size 2)",
    torch_of(lambda t: F.fold(t[None], (3, 3), 2)),
    grid(4, 4),
    derivatives=1,
)
c.fails(
    "unfold of a window that does not fit",
    "(unfold (ones [1 1 2 2]) :size 3)",
    "unfold: a window of 3 does not fit into 2 elements",
)
for out in ([2, 3], [5, 4], [1, 1], [7, 2]):
    c.value(
        f"adaptive-avg-pool to {out}",
        f"(adaptive-avg-pool {program(x)} :size {sizes(out)})",
        torch_of(lambda t: F.adaptive_avg_pool2d(t, out))(x),
    )
    c.value(
        f"adaptive-max-pool to {out}",
        f"(adaptive-max-pool {program(x)} :size {sizes(out)})",
        torch_of(lambda t: F.adaptive_max_pool2d(t, out))(x),
    )
c.function(
    "adaptive-max-pool",
    "(adaptive-max-pool x :size [2 2])",
    torch_of(lambda t: F.adaptive_max_pool2d(t[None], (2, 2))[0]),
    np.arange(15.0).reshape(3, 5)[:, [3, 1, 4, 0, 2]] / 2,
    derivatives=1,
)
POOLS = [
    (":size 2 :ceil-mode true", {"kernel_size": 2, "ceil_mode": True}),
    (":size 3 :stride 2 :padding 1", {"kernel_size": 3, "stride": 2, "padding": 1}),
    (
        ":size [3 2] :stride [2 3] :padding [1 1] :ceil-mode true",
        {"kernel_size": (3, 2), "stride": (2, 3), "padding": (1, 1), "ceil_mode": True},
    ),
]
for o, k in POOLS:
    c.value(f"max-pool {o}", f"(max-pool {program(x)} {o})", torch_of(lambda t: F.max_pool2d(t, **k))(x))
    c.value(f"avg-pool {o}", f"(avg-pool {program(x)} {o})", torch_of(lambda t: F.avg_pool2d(t, **k))(x))
    c.value(
        f"avg-pool without padding {o}",
        f"(avg-pool {program(x)} {o} :count-padding false)",
        torch_of(lambda t: F.avg_pool2d(t, count_include_pad=False, **k))(x),
    )
c.value(
    "max-pool, dilation",
    f"(max-pool {program(x)} :size 2 :stride 1 :dilation 2)",
    torch_of(lambda t: F.max_pool2d(t, 2, 1, dilation=2))(x),
)
v = grid(1, 2, 4, 3, 5)
c.value(
    "max-pool of volumes",
    f"(max-pool {program(v)} :size 2 :ceil-mode true)",
    torch_of(lambda t: F.max_pool3d(t, 2, ceil_mode=True))(v),
)
c.value("avg-pool of volumes", f"(avg-pool {program(v)} :size 2)", torch_of(lambda t: F.avg_pool3d(t, 2))(v))
c.value(
    "avg-pool of sequences",
    f"(avg-pool {program(v[0, 0])} :size [2] :ceil-mode true)",
    torch_of(lambda t: F.avg_pool1d(t, 2, ceil_mode=True))(v[0, 0]),
)
c.function(
    "avg-pool, ceil-mode",
    "(avg-pool x :size [2 2] :ceil-mode true :padding 1 :count-padding false)",
    torch_of(lambda t: F.avg_pool2d(t[None], 2, ceil_mode=True, padding=1, count_include_pad=False)[0]),
    grid(3, 4),
    derivatives=1,
)
w = grid(3, 2, 2, 2, 2)
for o, k in [
    ("", {}),
    (":stride 2 :padding 1", {"stride": 2, "padding": 1}),
    (":dilation [2 1 1]", {"dilation": (2, 1, 1)}),
]:
    c.value(
        f"conv3d {o}",
        f"(conv3d {program(v)} {program(w)} {o})",
        torch_of(lambda t: F.conv3d(t, torch.tensor(w), **k))(v),
    )
c.value(
    "conv-transpose of volumes",
    f"(conv-transpose {program(v[:, :1, :2, :2, :2])} {program(w[:1])} :stride 2)",
    torch_of(lambda t: F.conv_transpose3d(t, torch.tensor(w[:1]), stride=2))(v[:, :1, :2, :2, :2]),
)
c.function(
    "conv3d in its kernel",
    f"(conv3d {program(v)} x)",
    torch_of(lambda t: F.conv3d(torch.tensor(v), t)),
    w[:1],
    derivatives=1,
)

images, places = grid(2, 2, 4, 3), rng.integers(-23, 24, (2, 3, 2, 2)) / 16
for mode in ("linear", "nearest"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (False, True):
            k = dict(mode={"linear": "bilinear"}.get(mode, mode), padding_mode=padding, align_corners=corners)
            o = f":mode :{mode} :padding :{padding} :align-corners {str(corners).lower()}"
            c.value(
                f"grid-sample {o}",
                f"(grid-sample {program(images)} {program(places)} {o})",
                torch_of(lambda t: F.grid_sample(t, torch.tensor(places), **k))(images),
            )
    c.function(
        f"grid-sample, {mode}, in the images",
        f"(grid-sample (reshape x [1 1 3 3]) {program(places[:1])} :mode :{mode})",
        torch_of(
            lambda t: F.grid_sample(
                t[None, None],
                torch.tensor(places[:1]),
                mode={"linear": "bilinear"}.get(mode, mode),
                align_corners=False,
            )
        ),
        grid(3, 3),
        derivatives=1,
    )
c.function(
    "grid-sample in the places",
    f"(grid-sample {program(images[:1])} (reshape x [1 1 2 2]))",
    torch_of(lambda t: F.grid_sample(torch.tensor(images[:1]), t[None, None], align_corners=False)),
    [[0.1, -0.35], [0.42, 0.2]],
    derivatives=1,
)
theta = grid(2, 2, 3)
for corners in (False, True):
    c.value(
        f"affine-grid, corners {corners}",
        f"(affine-grid {program(theta)} [3 2] :align-corners {str(corners).lower()})",
        torch_of(lambda t: F.affine_grid(t, (2, 1, 3, 2), align_corners=corners))(theta),
    )
c.fails(
    "grid-sample of a vector",
    "(grid-sample [1 2] [1 2])",
    "grid-sample: expected images [N, C, H, W] and a grid [N, H', W', 2], got shapes [2] and [2]",
)

a = np.array([-2.5, -0.5, 0.0, 0.75, 3.0])
c.function("gelu, exact", "(gelu x :exact true)", torch_of(F.gelu), a)
c.value(
    "layer-norm, eps",
    f"(layer-norm {program(x)} {{:gamma [1 2 3 4] :beta [0 1 0 1]}} -1 :eps 0.5)",
    torch_of(lambda t: F.layer_norm(t, (4,), torch.tensor([1.0, 2, 3, 4]), torch.tensor([0.0, 1, 0, 1]), eps=0.5))(x),
)
c.value(
    "rms-norm, eps",
    f"(rms-norm {program(x)} {{:gamma [1 2 3 4]}} -1 :eps 0.5)",
    torch_of(lambda t: F.rms_norm(t, (4,), torch.tensor([1.0, 2, 3, 4]), eps=0.5))(x),
)
c.value("instance-norm", f"(instance-norm {program(x)} nil)", torch_of(F.instance_norm)(x))
c.value(
    "instance-norm with parameters",
    f"(instance-norm {program(x)} {{:gamma [1 2 3] :beta [0 1 0]}} :eps 0.1)",
    torch_of(lambda t: F.instance_norm(t, weight=torch.tensor([1.0, 2, 3]), bias=torch.tensor([0.0, 1, 0]), eps=0.1))(
        x
    ),
)
for mode, theirs in (("reflect", "reflect"), ("replicate", "replicate"), ("circular", "circular")):
    c.value(
        f"pad as PyTorch, {mode}",
        f"(pad {program(x)} [[0 0] [0 0] [1 2] [2 1]] :mode :{mode})",
        torch_of(lambda t: F.pad(t, (2, 1, 1, 2), mode=theirs))(x),
    )
