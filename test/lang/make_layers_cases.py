"""Writes layers.cases: convolutions, pools, recurrent cells, normalisations and attention against the plain definition
in double precision, loops over indices. Run by hand: python3 test/lang/make_layers_cases.py > test/lang/layers.cases"""

from itertools import product
from math import cos, exp, sin, sqrt, tanh


def data(shape, start=0):
    """Exact in every dtype, and without a pattern that hides swapped axes."""
    counter = iter(range(start, start + 10**6))

    def build(s):
        return [build(s[1:]) for _ in range(s[0])] if s else ((next(counter) * 7) % 11) / 4 - 1.25

    return build(shape)


def table(shape, f):
    def build(prefix, rest):
        return [build(prefix + (i,), rest[1:]) for i in range(rest[0])] if rest else f(*prefix)

    return build((), tuple(shape))


def shape_of(x):
    return [len(x)] + shape_of(x[0]) if isinstance(x, list) else []


def at(x, *index):
    for i in index:
        if i < 0 or i >= len(x):
            return 0.0
        x = x[i]
    return x


def text(x):
    return "[" + " ".join(text(v) for v in x) + "]" if isinstance(x, list) else repr(float(x))


def case(title, program, expected):
    print(f"--- {title}\n(is-close {program}\n  {text(expected)} :rtol 2e-6 :atol 1e-6)\n=> true")


def conv2d(x, w, stride, pad, dilation, groups):
    n, c, h, wd = shape_of(x)
    o, cg, kh, kw = shape_of(w)
    size = lambda length, k: (length + 2 * pad - (k - 1) * dilation - 1) // stride + 1

    def element(b, f, i, j):
        first = f // (o // groups) * cg
        return sum(
            at(w, f, q, a, e) * at(x, b, first + q, i * stride - pad + a * dilation, j * stride - pad + e * dilation)
            for q, a, e in product(range(cg), range(kh), range(kw))
        )

    return table((n, o, size(h, kh), size(wd, kw)), element)


def conv_transpose1d(x, w, stride):
    n, c, length = shape_of(x)
    _, o, k = shape_of(w)
    y = table((n, o, (length - 1) * stride + k), lambda *_: 0.0)
    for b, q, f, i, a in product(range(n), range(c), range(o), range(length), range(k)):
        y[b][f][i * stride + a] += x[b][q][i] * w[q][f][a]
    return y


def pool(x, k, stride, f):
    n, c, h, w = shape_of(x)
    return table(
        (n, c, (h - k) // stride + 1, (w - k) // stride + 1),
        lambda b, q, i, j: f([x[b][q][i * stride + a][j * stride + e] for a, e in product(range(k), range(k))]),
    )


def softmax(row):
    top = max(row)
    e = [exp(v - top) for v in row]
    return [v / sum(e) for v in e]


def attention(q, k, v, seen=lambda i, j: True):
    scale = 1 / sqrt(len(q[0]))
    scores = [
        [sum(a * b for a, b in zip(qi, kj)) * scale if seen(i, j) else float("-inf") for j, kj in enumerate(k)]
        for i, qi in enumerate(q)
    ]
    return [[sum(p * vj[e] for p, vj in zip(softmax(row), v)) for e in range(len(v[0]))] for row in scores]


def matmul(a, b):
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]


def sigmoid(x):
    return 1 / (1 + exp(-x))


def main():
    print(";;; Made by make_layers_cases.py; do not edit.")
    x, w = data((2, 2, 5, 6)), data((4, 2, 3, 2), 3)
    for stride, pad, dilation in [(1, 0, 1), (2, 1, 1), (1, 2, 2)]:
        case(
            f"conv2d stride {stride} padding {pad} dilation {dilation}",
            f"(conv2d {text(x)} {text(w)} :stride {stride} :padding {pad} :dilation {dilation})",
            conv2d(x, w, stride, pad, dilation, 1),
        )
    grouped = data((4, 1, 2, 2), 5)
    case("conv2d in groups", f"(conv2d {text(x)} {text(grouped)} :groups 2)", conv2d(x, grouped, 1, 0, 1, 2))
    x1, w1 = data((2, 3, 7)), data((2, 3, 3), 1)
    flat = conv2d([[[r] for r in c] for c in x1], [[[r] for r in c] for c in w1], 1, 0, 1, 1)
    case("conv1d", f"(conv1d {text(x1)} {text(w1)})", [[c[0] for c in b] for b in flat])
    wt = data((3, 2, 3), 1)
    case("conv-transpose", f"(conv-transpose {text(x1)} {text(wt)} :stride 2)", conv_transpose1d(x1, wt, 2))
    case("max-pool", f"(max-pool {text(x)} :size 2 :stride 1)", pool(x, 2, 1, max))
    case("avg-pool", f"(avg-pool {text(x)} :size 2)", pool(x, 2, 2, lambda v: sum(v) / len(v)))
    image = data((1, 1, 2, 3))
    case(
        "upsample",
        f"(upsample {text(image)} :scale 2)",
        table((1, 1, 4, 6), lambda b, c, i, j: image[b][c][i // 2][j // 2]),
    )
    q, k, v = data((4, 3)), data((5, 3), 2), data((5, 2), 4)
    case("attention", f"(attention {text(q)} {text(k)} {text(v)})", attention(q, k, v))
    case(
        "attention, causal: the rows are the last positions",
        f"(attention {text(q)} {text(k)} {text(v)} :causal true)",
        attention(q, k, v, lambda i, j: j <= i + 1),
    )
    case(
        "attention in a window",
        f"(attention {text(q)} {text(q)} {text(q)} :window 2)",
        attention(q, q, q, lambda i, j: abs(i - j) < 2),
    )
    heads = lambda m, h: [row[2 * h : 2 * h + 2] for row in m]
    qh, kh, vh = data((3, 4)), data((3, 4), 1), data((3, 4), 2)
    parts = [attention(heads(qh, h), heads(kh, h), heads(vh, h)) for h in (0, 1)]
    case(
        "attention with heads",
        f"(get (attention (reshape {text(qh)} [1 3 4]) (reshape {text(kh)} [1 3 4]) (reshape {text(vh)} [1 3 4]) :heads 2) 0)",
        [parts[0][i] + parts[1][i] for i in range(3)],
    )
    r = data((3, 4))

    def turned(p, i):
        angle = p * 10000 ** (-2 * (i % 2) / 4)
        a, b = r[p][i % 2], r[p][i % 2 + 2]
        return a * cos(angle) - b * sin(angle) if i < 2 else b * cos(angle) + a * sin(angle)

    case("rope", f"(rope {text(r)})", table((3, 4), turned))
    xs, h, c = data((2, 3)), data((2, 2), 1), data((2, 2), 5)
    W, U, b, d = data((3, 6), 2), data((2, 6), 3), data((6,), 4), data((6,), 7)
    gx, gh = matmul(xs, W), matmul(h, U)

    def gru(i, j):
        a = lambda part: gx[i][2 * part + j] + b[2 * part + j]
        e = lambda part: gh[i][2 * part + j] + d[2 * part + j]
        reset, update = sigmoid(a(0) + e(0)), sigmoid(a(1) + e(1))
        return (1 - update) * tanh(a(2) + reset * e(2)) + update * h[i][j]

    case(
        "gru-cell",
        f"(gru-cell {text(xs)} {text(h)} {{:W {text(W)} :U {text(U)} :b {text(b)} :c {text(d)}}})",
        table((2, 2), gru),
    )
    W, U, b = data((3, 8), 2), data((2, 8), 3), data((8,), 4)
    gx, gh = matmul(xs, W), matmul(h, U)

    def cell(i, j):
        g = lambda part: gx[i][2 * part + j] + gh[i][2 * part + j] + b[2 * part + j]
        return sigmoid(g(1)) * c[i][j] + sigmoid(g(0)) * tanh(g(2)), sigmoid(g(3))

    params = f"{{:W {text(W)} :U {text(U)} :b {text(b)}}}"
    state = f"(lstm-cell {text(xs)} (list {text(h)} {text(c)}) {params})"
    case("lstm-cell, the state", f"(second {state})", table((2, 2), lambda i, j: cell(i, j)[0]))
    case("lstm-cell, the output", f"(first {state})", table((2, 2), lambda i, j: cell(i, j)[1] * tanh(cell(i, j)[0])))
    channels = data((3, 4))

    def normal(values):
        m = sum(values) / len(values)
        return [(v - m) / sqrt(sum((u - m) ** 2 for u in values) / len(values) + 1e-5) for v in values]

    gamma, beta = [1.0, 2.0, 0.5, 1.5], [0.0, 1.0, -1.0, 0.5]
    columns = [normal(list(col)) for col in zip(*channels)]
    case(
        "batch-norm",
        f"(first (batch-norm {text(channels)} {{:gamma {text(gamma)} :beta {text(beta)}}} {{:mean (zeros [4]) :var (ones [4])}}))",
        table((3, 4), lambda i, j: columns[j][i] * gamma[j] + beta[j]),
    )
    rows = [normal(row[:2]) + normal(row[2:]) for row in channels]
    case(
        "group-norm",
        f"(group-norm {text(channels)} {{:gamma {text(gamma)} :beta {text(beta)}}} 2)",
        table((3, 4), lambda i, j: rows[i][j] * gamma[j] + beta[j]),
    )
    embedded = data((4, 2))
    case(
        "embedding",
        f"(embedding [[2 0] [3 3]] {text(embedded)})",
        [[embedded[2], embedded[0]], [embedded[3], embedded[3]]],
    )
    steps = attention(q, q, q, lambda i, j: j <= i)
    print("--- cached-attention gives what attention over all positions gives")
    print(f"(def all {text(q)})\n(defn row [i] (reshape (get all i) [1 1 1 3]))")
    print(
        "(let [[ys cache] (reduce (fn [[ys cache] i] (let [[y cache] (cached-attention (row i) (row i) (row i) cache)] [(append ys (reshape y [3])) cache]))"
    )
    print("                         [(list) (kv-cache 1 1 6 3)] (range 4))]")
    print(
        f"  (print (get cache :length))\n  (is-close (tensor ys) {text(steps)} :rtol 2e-6 :atol 1e-6))\n=> 4\n=> true"
    )


main()
