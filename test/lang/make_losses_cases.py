"""Writes losses.cases: losses with their gradients against PyTorch in double precision. Needs torch. Run by hand:
python3 test/lang/make_losses_cases.py > test/lang/losses.cases"""

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


def made(*sizes, lo=-2.0, hi=2.0):
    return ((torch.rand(*sizes) * (hi - lo) + lo) * 100).round() / 100


def text(x):
    if isinstance(x, torch.Tensor):
        x = x.tolist()
    return "[" + " ".join(text(v) for v in x) + "]" if isinstance(x, list) else repr(float(x))


# The loss and its gradient by the first argument, a program of x.
def case(title, call, x, loss):
    x = x.clone().requires_grad_(True)
    y = loss(x)
    y.sum().backward()
    print(
        f"--- {title}\n(let [f (fn [x] {call})\n      x {text(x)}]\n"
        f"  (list (is-close (f x) {text(y)} :rtol 5e-6 :atol 2e-6)\n"
        f"        (is-close ((grad (fn [x] (sum (f x)))) x) {text(x.grad)} :rtol 2e-5 :atol 2e-6)))\n=> [true, true]"
    )


print(";;; Made by make_losses_cases.py; do not edit.")
REDUCTIONS = ("mean", "sum", "none")
x, t = made(3, 4), made(3, 4)
for r in REDUCTIONS:
    o = f':reduction :{r}'
    case(f"mse, {r}", f"(mse-loss x {text(t)} {o})", x, lambda v: F.mse_loss(v, t, reduction=r))
    case(f"mae, {r}", f"(mae-loss x {text(t)} {o})", x, lambda v: F.l1_loss(v, t, reduction=r))
    case(f"huber, {r}", f"(huber-loss x {text(t)} :delta 0.7 {o})", x, lambda v: F.huber_loss(v, t, reduction=r, delta=0.7))
    case(
        f"smooth-l1, {r}",
        f"(smooth-l1-loss x {text(t)} :beta 0.7 {o})",
        x,
        lambda v: F.smooth_l1_loss(v, t, reduction=r, beta=0.7),
    )
case("smooth-l1, beta 0", f"(smooth-l1-loss x {text(t)} :beta 0)", x, lambda v: F.l1_loss(v, t))

# Classes: weights, smoothing, ignored classes, all at once.
logits, y = made(5, 4), torch.tensor([0, 3, 2, 2, 1])
w = torch.tensor([0.5, 2.0, 1.25, 0.25])
for r in REDUCTIONS:
    for smoothing in (0.0, 0.3):
        for weight in (None, w):
            for ignore in (-100, 2):
                options = f':reduction :{r}' + (f" :label-smoothing {smoothing}" if smoothing else "")
                options += f" :weight {text(w)}" if weight is not None else ""
                options += " :ignore-index 2" if ignore == 2 else ""
                case(
                    f"cross-entropy, {options}",
                    f"(cross-entropy-loss x {text(y)} {options})",
                    logits,
                    lambda v: F.cross_entropy(
                        v, y, weight, ignore_index=ignore, reduction=r, label_smoothing=smoothing
                    ),
                )
    case(
        f"nll, {r}",
        f'(nll-loss (log-softmax x) {text(y)} :weight {text(w)} :ignore-index 2 :reduction :{r})',
        logits,
        lambda v: F.nll_loss(F.log_softmax(v, -1), y, w, ignore_index=2, reduction=r),
    )
y3 = torch.tensor([[0, 3, 2], [1, 1, 0]])
x3 = made(2, 3, 4)
case(
    "cross-entropy of sequences, each loss",
    f'(cross-entropy-loss x {text(y3)} :reduction :none)',
    x3,
    lambda v: F.cross_entropy(v.reshape(-1, 4), y3.reshape(-1), reduction="none").reshape(2, 3),
)
p = F.softmax(made(5, 4), -1)
case("cross-entropy with probabilities", f"(soft-cross-entropy-loss x {text(p)})", logits, lambda v: F.cross_entropy(v, p))
b = torch.tensor([[1.0, 0.0, 1.0, 0.25], [0.0, 0.0, 1.0, 1.0], [1.0, 0.5, 0.0, 1.0]])
case("bce", f"(bce-loss x {text(b)})", x * 20, lambda v: F.binary_cross_entropy_with_logits(v, b))
case(
    "bce, weights",
    f'(bce-loss x {text(b)} :weight {text(w)} :pos-weight {text(w.flip(0))} :reduction :none)',
    x * 20,
    lambda v: F.binary_cross_entropy_with_logits(v, b, w, pos_weight=w.flip(0), reduction="none"),
)
case(
    "bce, label smoothing",
    f"(bce-loss x {text(b)} :label-smoothing 0.2)",
    x,
    lambda v: F.binary_cross_entropy_with_logits(v, b * 0.8 + 0.1),
)


# Lin et al. 2017, formula 5.
def focal(v, gamma, alpha):
    q = torch.sigmoid(v)
    miss = 1 - (q * b + (1 - q) * (1 - b))
    return (F.binary_cross_entropy_with_logits(v, b, reduction="none") * miss**gamma) * (alpha * b + (1 - alpha) * (1 - b))


case("focal", f"(focal-loss x {text(b)} :alpha 0.25)", x, lambda v: focal(v, 2, 0.25).mean())
case("focal, gamma", f'(focal-loss x {text(b)} :alpha 0.5 :gamma 1.5 :reduction :none)', x, lambda v: focal(v, 1.5, 0.5))
for margin, power in ((1.0, 1), (0.5, 2)):
    case(
        f"multi-margin, p {power}",
        f"(multi-margin-loss x {text(y)} :margin {margin} :p {power})",
        logits,
        lambda v: F.multi_margin_loss(v, y, p=power, margin=margin),
    )
sign = torch.where(made(3, 4) > 0, 1.0, -1.0)
case("hinge", f"(hinge-loss x {text(sign)})", x, lambda v: (1 - v * sign).clamp(min=0).mean())
case("hinge, squared", f"(hinge-loss x {text(sign)} :squared true)", x, lambda v: ((1 - v * sign).clamp(min=0) ** 2).mean())

# Counts and spreads.
counts = torch.tensor([[0.0, 1.0, 5.0, 2.0], [3.0, 0.0, 1.0, 12.0], [1.0, 2.0, 0.0, 4.0]])
case("poisson", f"(poisson-nll-loss x {text(counts)})", x, lambda v: F.poisson_nll_loss(v, counts))
case("poisson, full", f"(poisson-nll-loss x {text(counts)} :full true)", x, lambda v: F.poisson_nll_loss(v, counts, full=True))
case(
    "poisson of rates",
    f"(poisson-nll-loss x {text(counts)} :log-input false)",
    x.abs() + 0.1,
    lambda v: F.poisson_nll_loss(v, counts, log_input=False),
)
var = made(3, 4, lo=0.1)
case("gaussian", f"(gaussian-nll-loss x {text(t)} {text(var)})", x, lambda v: F.gaussian_nll_loss(v, t, var))
case(
    "gaussian by the variance, full",
    f"(gaussian-nll-loss {text(x)} {text(t)} x :full true)",
    var,
    lambda v: F.gaussian_nll_loss(x, t, v, full=True),
)
case("log-cosh", f"(log-cosh-loss x {text(t)})", x, lambda v: torch.log(torch.cosh(v - t)).mean())
d = lambda v: t - v
case("quantile", f"(quantile-loss x {text(t)} 0.3)", x, lambda v: torch.maximum(0.3 * d(v), -0.7 * d(v)).mean())
logp = F.log_softmax(made(3, 4), -1)
for r in REDUCTIONS:
    case(
        f"kl, {r}",
        f'(kl-loss (log-softmax x) {text(logp)} :reduction :{r})',
        x,
        lambda v: (lambda k: {"mean": k.mean(), "sum": k.sum(), "none": k}[r])(
            F.kl_div(F.log_softmax(v, -1), logp, log_target=True, reduction="none").sum(-1)
        ),
    )

# Pairs and triples.
u, v2 = made(3, 4), made(3, 4)
pair = torch.tensor([1.0, -1.0, 1.0])
case("cosine-embedding", f"(cosine-embedding-loss x {text(u)} {text(pair)} :margin 0.1)", x, lambda v: F.cosine_embedding_loss(v, u, pair, margin=0.1))
case(
    "margin-ranking",
    f"(margin-ranking-loss x {text(u)} {text(sign)} :margin 0.3)",
    x,
    lambda v: F.margin_ranking_loss(v, u, sign, margin=0.3),
)
for power, swap in ((2, False), (2, True), (1, True), (3, False)):
    case(
        f"triplet, p {power}, swap {swap}",
        f"(triplet-loss x {text(u)} {text(v2)} :margin 1.5 :p {power} :swap {str(swap).lower()})",
        x,
        lambda v: F.triplet_margin_loss(v, u, v2, margin=1.5, p=power, swap=swap),
    )
same = torch.tensor([1.0, 0.0, 1.0])


def contrastive(v):
    dist = (v - u).norm(dim=-1)
    return (same * dist**2 + (1 - same) * (4 - dist).clamp(min=0) ** 2).mean()


case("contrastive", f"(contrastive-loss x {text(u)} {text(same)} :margin 4)", x, contrastive)


def clip(v):
    m = F.normalize(v, dim=-1) @ F.normalize(u, dim=-1).T / 0.2
    own = torch.arange(3)
    return (F.cross_entropy(m, own) + F.cross_entropy(m.T, own)) / 2


case("info-nce", f"(info-nce-loss x {text(u)} :temperature 0.2)", x, clip)

# CTC: repeated labels, lengths, an empty target, another blank, unreachable targets.
frames = made(4, 7, 5)
labels = torch.tensor([[1, 2, 2], [3, 1, 4], [4, 0, 0], [0, 0, 0]])
sizes, label_sizes = torch.tensor([7, 5, 6, 4]), torch.tensor([3, 3, 1, 0])


def ctc(v, r, blank=0, target=labels, lengths=sizes, target_lengths=label_sizes, zero=False):
    logp = F.log_softmax(v, -1).transpose(0, 1)
    return F.ctc_loss(logp, target, lengths, target_lengths, blank, r, zero)


for r in REDUCTIONS:
    case(
        f"ctc, {r}",
        f'(ctc-loss x {text(labels)} :lengths {text(sizes)} :target-lengths {text(label_sizes)} :reduction :{r})',
        frames,
        lambda v: ctc(v, r),
    )
full = torch.tensor([[1, 2, 2], [3, 1, 1], [0, 2, 0], [1, 0, 2]])
whole = torch.tensor([7] * 4), torch.tensor([3] * 4)
case(
    "ctc, blank last",
    f'(ctc-loss x {text(full)} :blank 4 :reduction :none)',
    frames,
    lambda v: ctc(v, "none", 4, full, *whole),
)
short = torch.tensor([3, 3, 3, 3])
case(
    "ctc, too short counts 0",
    f'(ctc-loss x {text(torch.tensor([[1, 2, 2], [3, 1, 4], [4, 4, 4], [1, 2, 3]]))} :lengths {text(short)} :zero-infinity true :reduction :none)',
    frames,
    lambda v: ctc(v, "none", 0, torch.tensor([[1, 2, 2], [3, 1, 4], [4, 4, 4], [1, 2, 3]]), short, whole[1], True),
)
case(
    "ctc of one example",
    f"(ctc-loss x {text(labels[0])})",
    frames[0],
    lambda v: ctc(v[None], "mean", 0, labels[:1], torch.tensor([7]), torch.tensor([3])),
)
