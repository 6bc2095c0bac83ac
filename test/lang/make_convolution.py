# Writes convolution.cases: small integer convolutions and pools as jax.lax computes them (jax 0.10.2).
# Usage: python make_convolution.py > convolution.cases
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def numbers(shape, step):
    return ((np.arange(np.prod(shape)) * step) % 11 - 5).astype(np.float32).reshape(shape)


def text(shape, step):
    n, dims = int(np.prod(shape)), " ".join(map(str, shape))
    return f"(reshape (float (- (mod (* (arange {n}) {step}) 11) 5)) [{dims}])"


def case(title, code, y):
    y = np.asarray(y)
    flat = ", ".join(str(int(v)) for v in y.ravel())
    print(f"--- {title}")
    print(f"(let [y {code}] (list (dims y) (map int (reshape y [-1]))))")
    print(f"=> [[{', '.join(map(str, y.shape))}], [{flat}]]")


def names(d):
    return ("NCHW", "OIHW", "NCHW") if d == 2 else ("NCH", "OIH", "NCH")


def conv(title, xs, ws, stride, pad, dilation, groups, options):
    d = len(xs) - 2
    y = lax.conv_general_dilated(
        numbers(xs, 7),
        numbers(ws, 3),
        stride,
        pad,
        rhs_dilation=dilation,
        dimension_numbers=names(d),
        feature_group_count=groups,
    )
    case(f"conv{d}d {title}", f"(conv{d}d {text(xs, 7)} {text(ws, 3)}{options})", y)


def transposed(title, xs, ws, out, stride, pad, dilation, groups, options):
    d = len(xs) - 2
    f = lambda z: lax.conv_general_dilated(
        z, numbers(ws, 3), stride, pad, rhs_dilation=dilation, dimension_numbers=names(d), feature_group_count=groups
    )
    y, vjp = jax.vjp(f, jnp.zeros((xs[0], ws[1] * groups) + out))
    assert y.shape == xs
    case(f"conv-transpose {title}", f"(conv-transpose {text(xs, 7)} {text(ws, 3)}{options})", vjp(numbers(xs, 7))[0])


def pool(title, xs, size, stride, pad, options):
    lead = len(xs) - len(size)
    x, window, strides = numbers(xs, 7), (1,) * lead + size, (1,) * lead + stride
    pads = pad if isinstance(pad, str) else [(0, 0)] * lead + pad
    case(
        f"max-pool {title}",
        f"(max-pool {text(xs, 7)}{options})",
        lax.reduce_window(x, -np.inf, lax.max, window, strides, pads),
    )
    case(
        f"avg-pool {title}",
        f"(* (avg-pool {text(xs, 7)}{options}) {int(np.prod(size))})",
        lax.reduce_window(x, 0.0, lax.add, window, strides, pads),
    )


print(";;; Convolution and pooling; written by make_convolution.py.")
conv("plain", (2, 2, 5), (3, 2, 2), (1,), [(0, 0)], (1,), 1, "")
conv(
    "with a stride and padding before and after",
    (1, 2, 7),
    (2, 2, 3),
    (2,),
    [(2, 1)],
    (1,),
    1,
    " :stride 2 :padding [2 1]",
)
conv("in groups, dilated", (1, 4, 6), (4, 2, 2), (1,), [(1, 1)], (2,), 2, " :padding 1 :dilation 2 :groups 2")
conv("plain", (1, 2, 3, 4), (2, 2, 2, 3), (1, 1), [(0, 0), (0, 0)], (1, 1), 1, "")
conv("of the same size", (1, 1, 4, 3), (1, 1, 3, 2), (1, 1), "SAME", (1, 1), 1, " :padding :same")
conv(
    "of the same size with a stride",
    (1, 1, 5, 6),
    (1, 1, 3, 3),
    (2, 3),
    "SAME",
    (1, 1),
    1,
    " :padding :same :stride [2 3]",
)
conv(
    "with a padding for each side",
    (1, 1, 3, 3),
    (1, 1, 2, 2),
    (2, 1),
    [(1, 0), (2, 1)],
    (1, 1),
    1,
    " :padding [[1 0] [2 1]] :stride [2 1]",
)
conv("by channel", (1, 3, 3, 3), (3, 1, 2, 2), (1, 1), [(0, 0), (0, 0)], (1, 1), 3, " :groups 3")
conv("of one pixel", (2, 2, 2, 2), (3, 2, 1, 1), (1, 1), [(0, 0), (0, 0)], (1, 1), 1, "")
transposed("with a stride", (1, 2, 3), (2, 2, 3), (7,), (2,), [(0, 0)], (1,), 1, " :stride 2")
transposed(
    "with everything",
    (1, 2, 3, 2),
    (2, 1, 3, 2),
    (6, 6),
    (2, 3),
    [(1, 1), (0, 0)],
    (1, 2),
    2,
    " :stride [2 3] :padding [1 0] :dilation [1 2] :groups 2 :output-padding [1 0]",
)
transposed(
    "of the same size",
    (1, 1, 3, 2),
    (1, 1, 3, 3),
    (6, 4),
    (2, 2),
    [(0, 1), (0, 1)],
    (1, 1),
    1,
    " :stride 2 :padding :same",
)
pool("plain", (1, 2, 4, 4), (2, 2), (2, 2), [(0, 0), (0, 0)], " :size 2")
pool(
    "that overlaps, padded", (1, 1, 5, 4), (3, 2), (2, 1), [(1, 1), (0, 0)], " :size [3 2] :stride [2 1] :padding [1 0]"
)
pool("of the same size", (1, 1, 5, 4), (3, 3), (2, 2), "SAME", " :size 3 :stride 2 :padding :same")
pool("of one axis", (1, 2, 7), (3,), (2,), [(0, 0)], " :size 3 :stride 2")
print(r"""--- an input without a batch axis
(dims (conv2d (ones [3 5 5]) (ones [2 3 3 3])))
=> [2, 3, 3]
--- bf16 stays bf16
(dtype (conv1d (cast [[[1 2]]] :bf16) (cast [[[1]]] :bf16)))
=> :bf16
--- ints are convolved as floats
(conv1d (reshape (arange 4) [1 1 4]) [[[1 1]]])
=> [[[1. 3. 5.]]]
--- the first of equal elements gets the gradient of max-pool
((grad (fn [x] (sum (max-pool x :size 2)))) [[[0 0 3 3]]])
=> [[[1. 0. 1. 0.]]]
--- NaN wins in max-pool
(max-pool [[[1 nan 2 3]]] :size 2)
=> [[[NaN 3.]]]
--- max-pool of ints keeps their dtype, padding never wins
(max-pool (reshape (- (arange 4) 9) [1 1 4]) :size 2 :padding 1)
=> [[[-9 -7 -6]]]
--- gradient of a convolution with respect to the kernel
((grad (fn [w] (sum (conv1d [[[1 2 3 4]]] w)))) [[[1 1]]])
=> [[[6. 9.]]]
--- gradient of a convolution with respect to the input
((grad (fn [x] (sum (conv1d x [[[1 2]]])))) [[[1 2 3 4]]])
=> [[[1. 3. 3. 2.]]]
--- second derivative of a convolution
((grad (fn [x] (sum (** ((grad (fn [y] (sum (** (conv1d y [[[1 2]]]) 2)))) x) 2)))) [[[1 2 3]]])
=> [[[328. 1056. 800.]]]
--- a batched convolution by vmap
(let [w (reshape (float (arange 8)) [2 1 2 2]) x (reshape (float (arange 18)) [2 1 3 3])]
  (equal? ((vmap (fn [a] (conv2d a w))) x) (conv2d x w)))
=> true
--- upsample
(upsample [[1 2] [3 4]] :scale [2 1])
=> [[1. 2.]
=>  [1. 2.]
=>  [3. 4.]
=>  [3. 4.]]
--- a window that does not fit
(conv2d (ones [1 1 2 2]) (ones [1 1 3 3]))
!! conv2d: a window of 3 does not fit into 2 elements
!hint :padding
--- channels that do not agree
(conv2d (ones [1 3 4 4]) (ones [1 2 3 3]))
!! conv2d: the input has 3 channels, but the kernel [1, 2, 3, 3] with :groups 1 expects 2
--- an unknown padding
(conv1d (ones [1 1 4]) (ones [1 1 2]) :padding :full)
!! conv1d: unknown padding :full. Known: :same :valid, a number, or numbers
--- an unknown option
(conv1d (ones [1 1 4]) (ones [1 1 2]) :strides 2)
!! conv1d: unknown option :strides. Known options: :stride :padding :dilation :groups
--- pooling needs a size
(max-pool (ones [1 1 4]))
!! max-pool: needs a :size""")
