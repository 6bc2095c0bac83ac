"""Writes recurrent.cases: recurrent networks over sequences, their gradients and states against torch.nn in double
precision, and associative-scan against jax.lax. Needs torch and jax. Run by hand:
python3 test/lang/make_recurrent_cases.py > test/lang/recurrent.cases"""

import jax
import jax.numpy as jnp
import torch

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
IN, HIDDEN, N, T = 2, 3, 2, 5


def text(x):
    if isinstance(x, torch.Tensor):
        x = x.tolist()
    return "[" + " ".join(text(v) for v in x) + "]" if isinstance(x, list) else f"{float(x):.9g}"


def rounded(*sizes):
    return (torch.rand(*sizes) * 200 - 100).round() / 100


# The parameters of one direction of one layer in Sheaf's form: weights transposed, and an LSTM's two biases summed.
def cell(kind, net, layer, suffix=""):
    w, u, b, c = (getattr(net, f"{name}_l{layer}{suffix}").detach() for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    if kind == "gru":
        return f"{{:W {text(w.T)} :U {text(u.T)} :b {text(b)} :c {text(c)}}}"
    return f"{{:W {text(w.T)} :U {text(u.T)} :b {text(b + c)}}}"


def params(kind, net, layers, both):
    out = []
    for layer in range(layers):
        p = cell(kind, net, layer)
        out.append(f"{{:forward {p} :backward {cell(kind, net, layer, '_reverse')}}}" if both else p)
    return "(list " + " ".join(out) + ")" if layers > 1 else out[0]


# States [layers * directions, N, H] in the structure of the parameters; `leaf` gives the text of one.
def states(leaf, layers, both):
    out = []
    for layer in range(layers):
        out.append(f"{{:forward {leaf(2 * layer)} :backward {leaf(2 * layer + 1)}}}" if both else leaf(layer))
    return "(list " + " ".join(out) + ")" if layers > 1 else out[0]


def case(kind, layers=1, both=False, start=False, lengths=None, act=None):
    make = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[kind]
    net = make(IN, HIDDEN, layers, batch_first=True, bidirectional=both, **({"nonlinearity": act} if act else {}))
    for p in net.parameters():
        p.data = rounded(*p.shape)
    x = rounded(N, T, IN).requires_grad_(True)
    k = layers * (2 if both else 1)
    h0, c0 = rounded(k, N, HIDDEN), rounded(k, N, HIDDEN)
    lstm = kind == "lstm"
    inputs = x
    if lengths:
        inputs = torch.nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
        )
    y, end = net(inputs, ((h0, c0) if lstm else h0) if start else None)
    if lengths:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=T)
    (y * y).sum().backward()
    pair = (lambda h, c: lambda i: f"(list {text(h[i])} {text(c[i])})") if lstm else (lambda h, c: lambda i: text(h[i]))
    options = (f" :state {states(pair(h0, c0), layers, both)}" if start else "") + (f" :lengths {text(list(lengths))}" if lengths else "")
    options += f" :act {act}" if act else ""
    title = f"{kind}, {layers} layer{'s' if layers > 1 else ''}{', both directions' if both else ''}"
    title += (", a state to begin with" if start else "") + (", lengths" if lengths else "") + (f", {act}" if act else "")
    h, c = end if lstm else (end, end)
    wu = [getattr(net, f"weight_hh_l0").grad.T, getattr(net, f"bias_ih_l0").grad]
    first = "(first p)" if layers > 1 else "p"
    first = f"(:forward {first})" if both else first
    g = "(first g)" if layers > 1 else "g"
    g = f"(:forward {g})" if both else g
    print(
        f"--- {title}\n(let [p {params(kind, net, layers, both)}\n      x {text(x)}\n"
        f"      loss (fn [p x] (sum (** (first ({kind} x p{options})) 2)))\n"
        f"      [y end] ({kind} x p{options})\n"
        f"      close (fn [a b] (allclose a b :rtol 1e-5 :atol 2e-6))\n"
        f"      [g gx] ((grad loss :argnums '[0 1]) p x)]\n"
        f"  (list (close y {text(y)})\n"
        f"        (tree-reduce (fn [all same] (and all same)) (tree-map close end {states(pair(h, c), layers, both)}) true)\n"
        f"        (close gx {text(x.grad)})\n"
        f"        (allclose (:U {g}) {text(wu[0])} :rtol 1e-4 :atol 2e-5)\n"
        f"        (allclose (:b {g}) {text(wu[1])} :rtol 1e-4 :atol 2e-5)))\n=> [true, true, true, true, true]"
    )


print(";;; Made by make_recurrent_cases.py; do not edit.")
for kind in ("rnn", "gru", "lstm"):
    case(kind)
    case(kind, start=True)
    case(kind, both=True)
    case(kind, layers=2, both=True, start=True)
    case(kind, layers=3)
    case(kind, layers=2, both=True, start=True, lengths=(3, 5))
case("rnn", act="relu")


def scan_case(title, program, value):
    print(f"--- {title}\n(allclose {program} {text(jnp.asarray(value).tolist())} :rtol 1e-5 :atol 1e-6)\n=> true")


# A linear recurrence h' = a h + b, for every length around powers of two, both ways.
def linear(p, q):
    return q[0] * p[0], q[0] * p[1] + q[1]


for n in (1, 2, 3, 4, 5, 7, 8, 9, 17):
    for reverse in (False, True):
        a, b = rounded(n, 2), rounded(n, 2)
        want = jax.lax.associative_scan(linear, (jnp.asarray(a.numpy()), jnp.asarray(b.numpy())), reverse=reverse)[1]
        scan_case(
            f"associative-scan of {n} rows{', reverse' if reverse else ''}",
            f"(:b (associative-scan (fn [x y] {{:a (* (:a y) (:a x)) :b (+ (* (:a y) (:b x)) (:b y))}}) {{:a {text(a)} :b {text(b)}}}"
            f"{' :reverse true' if reverse else ''}))",
            want,
        )
