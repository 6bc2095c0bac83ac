"""Writes optimizers.cases: eight steps of every optimizer, and schedules, against PyTorch in double precision (Lion,
which PyTorch lacks, against its published update, LAMB and lookahead against optax, Muon against PyTorch's update
without its rounding to bf16). Needs torch, jax and optax. Run by hand:
python3 test/lang/make_optimizer_cases.py > test/lang/optimizers.cases"""

import math

import jax
import jax.numpy as jnp
import optax
import torch

jax.config.update("jax_enable_x64", True)

torch.set_default_dtype(torch.float64)
W = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.5]]
B = [0.5, -0.75]
# The loss is sum(c * (p - t)^2): gradients change with the parameters and differ between elements.
CW, TW = [[1.0, 0.5, 2.0], [0.25, 1.5, 1.0]], [[0.0, 1.0, 2.0], [-1.0, 0.5, 0.0]]
CB, TB = [2.0, 0.5], [-1.0, 1.0]
STEPS = 8
PROGRAM = f"""(defn loss [p]
  (+ (sum (* {CW} (** (- (get p :w) {TW}) 2)))
     (sum (* {CB} (** (- (get p :b) {TB}) 2)))))
(defn train [opt p n]
  (first (repeat [i n] [state (list p ((get opt :init) p))]
    (let [[p s] state]
      ((get opt :step) p ((grad loss) p) s)))))
(let [p (train OPT {{:w {W} :b {B}}} {STEPS})]"""


def text(x):
    return "[" + " ".join(text(v) for v in x) + "]" if isinstance(x, list) else repr(float(x))


def loss(w, b):
    t = torch.tensor
    return (t(CW) * (w - t(TW)) ** 2).sum() + (t(CB) * (b - t(TB)) ** 2).sum()


def trained(make, clip=None, schedule=None):
    w, b = torch.tensor(W, requires_grad=True), torch.tensor(B, requires_grad=True)
    opt = make(w, b)
    scheduler = schedule(opt) if schedule else None
    for _ in range(STEPS):
        opt.zero_grad()
        loss(w, b).backward()
        if clip:
            torch.nn.utils.clip_grad_norm_([w, b], clip)
        opt.step()
        if scheduler:
            scheduler.step()
    return w.tolist(), b.tolist()


def case(title, optimizer, result):
    w, b = result
    program = PROGRAM.replace("OPT", optimizer).replace(",", "")
    print(
        f"--- {title}\n{program}\n  (list (is-close (get p :w) {text(w)} :rtol 5e-6 :atol 2e-6)\n"
        f"        (is-close (get p :b) {text(b)} :rtol 5e-6 :atol 2e-6)))\n=> [true, true]"
    )


def groups(w, b, wd):
    return [{"params": [w], "weight_decay": wd}, {"params": [b], "weight_decay": 0.0}]


def lion(lr, b1, b2, wd):
    w, b = torch.tensor(W), torch.tensor(B)
    ms = [torch.zeros_like(w), torch.zeros_like(b)]
    for _ in range(STEPS):
        ps = [w.requires_grad_(True), b.requires_grad_(True)]
        gs = torch.autograd.grad(loss(w, b), ps)
        out = []
        for i, (p, g) in enumerate(zip(ps, gs)):
            p = p.detach()
            out.append(p - lr * (torch.sign(b1 * ms[i] + (1 - b1) * g) + wd * p))
            ms[i] = b2 * ms[i] + (1 - b2) * g
        w, b = out
    return w.tolist(), b.tolist()


def schedule_case(title, program, values):
    print(
        f"--- {title}\n(is-close (tensor (map {program} (list {' '.join(str(s) for s, _ in values)})))\n"
        f"  {text([v for _, v in values])} :rtol 5e-6 :atol 1e-7)\n=> true"
    )


o = torch.optim
print(";;; Made by make_optimizer_cases.py; do not edit.")
case("sgd", "(sgd {:lr 0.05})", trained(lambda w, b: o.SGD([w, b], lr=0.05)))
case("sgd, momentum", "(sgd {:lr 0.05 :momentum 0.9})", trained(lambda w, b: o.SGD([w, b], lr=0.05, momentum=0.9)))
case(
    "sgd, nesterov and decay",
    "(sgd {:lr 0.05 :momentum 0.9 :nesterov true :wd 0.1})",
    trained(lambda w, b: o.SGD([w, b], lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1)),
)
case(
    "sgd, clipped",
    "(sgd {:lr 0.05 :momentum 0.5 :clip 1.5})",
    trained(lambda w, b: o.SGD([w, b], lr=0.05, momentum=0.5), clip=1.5),
)
case("adam", "(adam {:lr 0.1})", trained(lambda w, b: o.Adam([w, b], lr=0.1)))
case(
    "adam with decay in the gradient",
    "(adam {:lr 0.1 :b1 0.8 :b2 0.95 :eps 1e-4 :wd 0.2})",
    trained(lambda w, b: o.Adam([w, b], lr=0.1, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.2)),
)
case("adamw", "(adamw {:lr 0.1 :wd 0.3})", trained(lambda w, b: o.AdamW([w, b], lr=0.1, weight_decay=0.3)))
case(
    "adamw, only matrices decay",
    "(adamw {:lr 0.1 :wd 0.3 :mask (fn [leaf path] (> (ndim leaf) 1))})",
    trained(lambda w, b: o.AdamW(groups(w, b, 0.3), lr=0.1)),
)
case(
    "adamw, masked by name",
    '(adamw {:lr 0.1 :wd 0.3 :mask (fn [leaf path] (= path "w"))})',
    trained(lambda w, b: o.AdamW(groups(w, b, 0.3), lr=0.1)),
)
case(
    "adamw with clipping and a cosine schedule",
    "(adamw {:lr (cosine-schedule {:lr 0.1 :total 8}) :wd 0.1 :clip 1.0})",
    trained(
        lambda w, b: o.AdamW([w, b], lr=0.1, weight_decay=0.1),
        clip=1.0,
        schedule=lambda opt: o.lr_scheduler.CosineAnnealingLR(opt, T_max=8),
    ),
)
case(
    "a chain is the same as the option",
    "(chain (clip-norm 1.0) (adamw {:lr 0.1 :wd 0.1}))",
    trained(lambda w, b: o.AdamW([w, b], lr=0.1, weight_decay=0.1), clip=1.0),
)
case(
    "a chain of parts: decay, then descent",
    "(chain (add-decay 0.1) (scale -0.05))",
    trained(lambda w, b: o.SGD([w, b], lr=0.05, weight_decay=0.1)),
)
case("lion", "(lion {:lr 0.02 :wd 0.1})", lion(0.02, 0.9, 0.99, 0.1))
case("adafactor", "(adafactor {:lr 0.1})", trained(lambda w, b: o.Adafactor([w, b], lr=0.1, eps=(1.1920929e-7, 1e-3))))
case(
    "adafactor with decay",
    "(adafactor {:lr 0.1 :wd 0.2 :decay -0.7 :d 1.5})",
    trained(
        lambda w, b: o.Adafactor([w, b], lr=0.1, eps=(1.1920929e-7, 1e-3), weight_decay=0.2, beta2_decay=-0.7, d=1.5)
    ),
)


# Optimizers of optax, on trees of dicts.
def by_optax(opt, fast_and_slow=False):
    def value(p):
        return jnp.sum(jnp.array(CW) * (p["w"] - jnp.array(TW)) ** 2) + jnp.sum(jnp.array(CB) * (p["b"] - jnp.array(TB)) ** 2)

    p = {"w": jnp.array(W), "b": jnp.array(B)}
    p = optax.LookaheadParams.init_synced(p) if fast_and_slow else p
    state = opt.init(p)
    for _ in range(STEPS):
        updates, state = opt.update(jax.grad(value)(p.fast if fast_and_slow else p), state, p)
        p = optax.apply_updates(p, updates)
    p = p.fast if fast_and_slow else p
    return p["w"].tolist(), p["b"].tolist()


# torch.optim.Muon without its rounding to bf16, for a matrix [in, out]; the vector is AdamW's.
def muon(lr, wd, nesterov=True, adamw_rates=False, momentum=0.95):
    w, b = torch.tensor(W, requires_grad=True), torch.tensor(B, requires_grad=True)
    opt = o.AdamW([b], lr=3e-4, weight_decay=0.01)
    buf = torch.zeros_like(w)
    n, m = w.shape
    for _ in range(STEPS):
        opt.zero_grad()
        w.grad = None
        loss(w, b).backward()
        g = w.grad
        buf = buf.lerp(g, 1 - momentum)
        x = (g.lerp(buf, momentum) if nesterov else buf).T
        tall = x.shape[0] > x.shape[1]
        x = x.T if tall else x
        x = x / x.norm().clamp(min=1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        x = x.T if tall else x
        factor = 0.2 * math.sqrt(max(n, m)) if adamw_rates else math.sqrt(max(1, m / n))
        with torch.no_grad():
            w.mul_(1 - lr * wd)
            w.add_(x.T, alpha=-lr * factor)
        opt.step()
    return w.tolist(), b.tolist()


case("rmsprop", "(rmsprop {:lr 0.05})", trained(lambda w, b: o.RMSprop([w, b], lr=0.05)))
case(
    "rmsprop, centered, momentum and decay",
    "(rmsprop {:lr 0.02 :decay 0.9 :eps 1e-4 :momentum 0.8 :centered true :wd 0.1})",
    trained(
        lambda w, b: o.RMSprop([w, b], lr=0.02, alpha=0.9, eps=1e-4, momentum=0.8, centered=True, weight_decay=0.1)
    ),
)
case("adagrad", "(adagrad {:lr 0.3})", trained(lambda w, b: o.Adagrad([w, b], lr=0.3)))
case(
    "adagrad, initial value and decay, clipped",
    "(adagrad {:lr 0.3 :initial 0.5 :wd 0.1 :clip 2.0})",
    trained(lambda w, b: o.Adagrad([w, b], lr=0.3, initial_accumulator_value=0.5, weight_decay=0.1), clip=2.0),
)
case("adadelta", "(adadelta {})", trained(lambda w, b: o.Adadelta([w, b])))
case(
    "adadelta, decay",
    "(adadelta {:lr 0.5 :decay 0.8 :eps 1e-3 :wd 0.1})",
    trained(lambda w, b: o.Adadelta([w, b], lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.1)),
)
case("adamax", "(adamax {:lr 0.1})", trained(lambda w, b: o.Adamax([w, b], lr=0.1)))
case(
    "adamax, decay",
    "(adamax {:lr 0.1 :b1 0.8 :b2 0.7 :wd 0.1})",
    trained(lambda w, b: o.Adamax([w, b], lr=0.1, betas=(0.8, 0.7), weight_decay=0.1)),
)
case("radam", "(radam {:lr 0.1})", trained(lambda w, b: o.RAdam([w, b], lr=0.1)))
case(
    "radam, decay",
    "(radam {:lr 0.1 :b1 0.8 :b2 0.9 :wd 0.1})",
    trained(lambda w, b: o.RAdam([w, b], lr=0.1, betas=(0.8, 0.9), weight_decay=0.1)),
)
case("nadam", "(nadam {:lr 0.1})", trained(lambda w, b: o.NAdam([w, b], lr=0.1)))
case(
    "nadam, decay",
    "(nadam {:lr 0.1 :b1 0.8 :b2 0.9 :momentum-decay 0.05 :wd 0.1})",
    trained(lambda w, b: o.NAdam([w, b], lr=0.1, betas=(0.8, 0.9), momentum_decay=0.05, weight_decay=0.1)),
)
case("lamb", "(lamb {:lr 0.1 :wd 0.2})", by_optax(optax.lamb(0.1, weight_decay=0.2)))
case(
    "lamb, only matrices decay",
    "(lamb {:lr 0.1 :b1 0.8 :b2 0.9 :wd 0.2 :mask (fn [leaf path] (> (ndim leaf) 1))})",
    by_optax(optax.lamb(0.1, b1=0.8, b2=0.9, weight_decay=0.2, mask={"w": True, "b": False})),
)
case("muon", "(muon {:lr 0.1})", muon(0.1, 0.1))
case(
    "muon, rates of AdamW",
    "(muon {:lr 0.1 :wd 0.3 :nesterov false :momentum 0.8 :adjust :adamw})",
    muon(0.1, 0.3, False, True, 0.8),
)
case(
    "lookahead",
    "(lookahead 3 0.4 (sgd {:lr 0.05 :momentum 0.9}))",
    by_optax(optax.lookahead(optax.sgd(0.05, momentum=0.9), 3, 0.4), True),
)


def torch_schedule(make, lr, steps):
    opt = o.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    scheduler = make(opt)
    out = []
    for s in range(steps):
        out.append((s, opt.param_groups[0]["lr"]))
        opt.step()
        scheduler.step()
    return out


L = o.lr_scheduler
schedule_case(
    "one cycle",
    "(one-cycle-schedule {:lr 0.5 :total 20})",
    torch_schedule(lambda opt: L.OneCycleLR(opt, 0.5, total_steps=20), 0.5, 20),
)
schedule_case(
    "one cycle, other parts",
    "(one-cycle-schedule {:lr 0.5 :total 20 :part 0.5 :div 10.0 :final-div 100.0})",
    torch_schedule(
        lambda opt: L.OneCycleLR(opt, 0.5, total_steps=20, pct_start=0.5, div_factor=10, final_div_factor=100), 0.5, 20
    ),
)
schedule_case(
    "cosine",
    "(cosine-schedule {:lr 0.5 :total 10 :end 0.1})",
    torch_schedule(lambda opt: L.CosineAnnealingLR(opt, 10, eta_min=0.1), 0.5, 11),
)
schedule_case(
    "linear",
    "(linear-schedule {:lr 0.5 :total 10 :end 0.05})",
    torch_schedule(lambda opt: L.LinearLR(opt, 1.0, 0.1, total_iters=10), 0.5, 13),
)
schedule_case(
    "steps", "(step-schedule {:lr 0.5 :every 4 :rate 0.5})", torch_schedule(lambda opt: L.StepLR(opt, 4, 0.5), 0.5, 13)
)
schedule_case(
    "cosine with warm-up",
    "(cosine-schedule {:lr 0.5 :warmup 4 :total 12 :end 0.05})",
    [
        (s, 0.5 * s / 4 if s < 4 else 0.05 + 0.45 * 0.5 * (1 + math.cos(math.pi * min(1, (s - 4) / 8))))
        for s in range(15)
    ],
)
