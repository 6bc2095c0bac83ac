"""Writes attention.cases: values and gradients of `attention` against PyTorch's scaled_dot_product_attention in
float64. Inputs are small multiples of 1/32, the same in every dtype. Results are summed over batch, heads and features
with weights, so that each position leaves one number. Run: python make_attention_cases.py > attention.cases (needs
torch)."""

import torch
import torch.nn.functional as F


def data(shape, seed):
    n = 1
    for s in shape:
        n *= s
    i = torch.arange(n, dtype=torch.float64)
    return ((37 * i + seed) % 101 - 50).div(32).reshape(shape)


def sheaf_data(shape, seed):
    return f"(data [{' '.join(map(str, shape))}] {seed})"


def text(x):
    return "[" + " ".join(f"{v:.9g}" for v in x.tolist()) + "]"


def positions(x):
    """[..., T, E] -> [T]"""
    w = data((x.shape[-1],), 11)
    return (x * w).sum(-1).reshape(-1, x.shape[-2]).sum(0)


PRELUDE = """(defn data [shape seed] (reshape (/ (- (mod (+ (* 37 (range (reduce * 1 shape))) seed) 101) 50) 32) shape))
(defn positions [x] (sum (reshape (sum (* (cast x :f32) (data [(shape x -1)] 11)) :axis -1) [-1 (shape x -2)]) :axis 0))"""


def case(
    title,
    q_shape,
    k_shape,
    v_shape,
    options,
    mask=None,
    is_causal=False,
    groups=False,
    dtype="f32",
    tolerance="3e-6",
    scale=None,
):
    q, k, v = (data(s, seed).requires_grad_() for s, seed in ((q_shape, 1), (k_shape, 2), (v_shape, 3)))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal, enable_gqa=groups, scale=scale)
    w = data(tuple(y.shape), 4)
    dq, dk, dv = torch.autograd.grad((y * w).sum(), (q, k, v))
    print(f"--- {title}")
    print(PRELUDE)
    cast = lambda s: s if dtype == "f32" else f"(cast {s} :{dtype})"
    print(
        f"(def p {{:q {cast(sheaf_data(q_shape, 1))} :k {cast(sheaf_data(k_shape, 2))} :v {cast(sheaf_data(v_shape, 3))}}})"
    )
    print(f"(defn att [p] (attention (get p :q) (get p :k) (get p :v){options}))")
    print(f"(def g ((grad (fn [p] (sum (* (att p) {cast(sheaf_data(tuple(y.shape), 4))})))) p))")
    print(f"(defn near [x y] (is-close (positions x) y :rtol {tolerance} :atol {tolerance}))")
    print(f"(print (near (att p) {text(positions(y))})")
    for name, d in (("q", dq), ("k", dk)):
        print(f"  (near (get g :{name}) {text(positions(d))})")
    print(f"  (near (get g :v) {text(positions(dv))}))")
    print("=> true true true true")


def seen(rows, columns, f):
    return torch.tensor([[bool(f(i, j)) for j in range(columns)] for i in range(rows)])


def main():
    print(";;; Made by make_attention_cases.py; do not edit.")
    q, k, v = (2, 2, 37, 8), (2, 2, 70, 8), (2, 2, 70, 5)
    case("attention and gradients", q, k, v, "")
    case(
        "causal: the rows are the last positions", q, k, v, " :causal true", mask=seen(37, 70, lambda i, j: j <= i + 33)
    )
    case("causal with an offset", q, k, v, " :causal true :offset 5", mask=seen(37, 70, lambda i, j: j <= i + 5))
    case("a window", q, k, v, " :window 4", mask=seen(37, 70, lambda i, j: abs(i + 33 - j) < 4))
    case(
        "a causal window, square",
        q,
        q,
        q,
        " :causal true :window 20",
        mask=seen(37, 37, lambda i, j: j <= i and i - j < 20),
    )
    case(
        "a Bool mask",
        q,
        k,
        v,
        " :mask (== (mod (+ (reshape (range 37) [-1 1]) (range 70)) 3) 0)",
        mask=seen(37, 70, lambda i, j: (i + j) % 3 == 0),
    )
    case(
        "padded keys by batch",
        q,
        k,
        v,
        " :mask (< (range 70) (reshape [40 70] [2 1 1 1]))",
        mask=torch.stack([seen(1, 70, lambda i, j: j < n) for n in (40, 70)]).reshape(2, 1, 1, 70),
    )
    case(
        "a bias by head, as a function",
        q,
        k,
        v,
        " :mask (fn [b h i j] (* (- 0 (/ (+ h 1) 8)) (abs (- i j))))",
        mask=torch.stack(
            [
                torch.tensor(
                    [[-(h + 1) / 8 * abs(i + 33 - j) for j in range(70)] for i in range(37)], dtype=torch.float64
                )
                for h in (0, 1)
            ]
        ),
    )
    case("another scale", q, k, v, " :scale 0.25", scale=0.25)
    case("grouped heads", (1, 6, 17, 4), (1, 2, 17, 4), (1, 2, 17, 4), " :causal true", is_causal=True, groups=True)
    case("one row, many columns", (1, 2, 1, 4), (1, 2, 1200, 4), (1, 2, 1200, 3), " :causal true")
    case("no axes in front", (5, 3), (5, 3), (5, 2), " :causal true", is_causal=True)
    case("one axis in front, in f64", (3, 20, 6), (3, 20, 6), (3, 20, 6), " :causal true", is_causal=True, dtype="f64")
    # Compared after a sum of many elements that are each rounded to 8 bits.
    case(
        "in bf16",
        (2, 1, 20, 8),
        (2, 1, 20, 8),
        (2, 1, 20, 8),
        " :causal true",
        is_causal=True,
        dtype="bf16",
        tolerance="4e-2",
    )
    print(CORNERS)


CORNERS = """--- a row that sees nothing is NaN; its gradient leaves the others alone
(def q [[1 2] [3 4]])
(defn f [p] (attention (get p :q) (get p :k) q :causal true :offset -1))
(print (f {:q q :k q}))
(print ((grad (fn [p] (sum (get (f p) 1)))) {:q q :k q}))
=> [[NaN NaN]
=>  [ 1.  2.]]
=> {:k [[0. 0.]
=>      [0. 0.]],
=>  :q [[0. 0.]
=>      [0. 0.]]}
--- nothing to ask
(shape (attention (zeros [2 0 3]) (zeros [2 4 3]) (zeros [2 4 5])))
=> [2. 0. 5.]
--- nothing to attend to
(attention (zeros [2 3]) (zeros [0 3]) (zeros [0 4]))
!! attention -> there is nothing to attend to: q is [2, 3], k [0, 3], v [0, 4]
--- features differ
(attention (zeros [2 3]) (zeros [2 4]) (zeros [2 4]))
!! attention -> q and k differ in their features, 3 and 4: q is [2, 3], k [2, 4], v [2, 4]
--- positions differ
(attention (zeros [2 3]) (zeros [3 3]) (zeros [2 4]))
!! attention -> k and v differ in their positions, 3 and 2: q is [2, 3], k [3, 3], v [2, 4]
--- heads that cannot share
(attention (zeros [2 4 5 3]) (zeros [2 3 5 3]) (zeros [2 3 5 3]))
!! attention -> the number of query heads must be a multiple of the number of key heads: q is [2, 4, 5, 3], k [2, 3, 5, 3], v [2, 3, 5, 3]
--- batches differ
(attention (zeros [2 5 3]) (zeros [3 2 3]) (zeros [3 2 4]))
!! attention -> the axes in front differ: q is [2, 5, 3], k [3, 2, 3], v [3, 2, 4]
--- a vector is no sequence
(attention (zeros [3]) (zeros [2 3]) (zeros [2 4]))
!! attention -> q needs at least 2 axes (positions and features), got shape [3]
--- a number is no sequence
(attention 1 (zeros [2 3]) (zeros [2 4]))
!! attention -> q must be a tensor, got int
--- a mask that does not fit
(attention (zeros [2 3]) (zeros [2 3]) (zeros [2 4]) :mask [1 2 3])
!! attention -> Cannot broadcast shapes [2, 2] and [3]
--- keys shared by the batch, a mask with axes of its own
(print (shape (attention (zeros [2 5 3]) (zeros [2 3]) (zeros [2 4]))) (shape (attention (zeros [2 3]) (zeros [2 3]) (zeros [2 4]) :mask (zeros [3 2 2]))))
=> [2. 5. 4.] [3. 2. 4.]
--- a scale, an offset and a window that a gradient or a batch runs over
(def x [[1 2] [3 4] [0 1]])
(print (is-close ((grad (fn [s] (sum (get (attention x x x :scale s) 0)))) 0.5)
                 ((grad (fn [s] (sum (get (@ (softmax (* s (@ x (transpose x)))) x) 0)))) 0.5) :rtol 1e-5)
       (is-close ((vmap (fn [o] (attention x x x :causal true :offset o))) [0 1 2]) (stack (map (fn [o] (attention x x x :causal true :offset o)) [0 1 2])))
       (is-close ((vmap (fn [w] (attention x x x :window w))) [1 2 3]) (stack (map (fn [w] (attention x x x :window w)) [1 2 3]))))
=> true true true
--- derivatives of derivatives, and of a mask
(def x [[1 2] [0.5 -1] [0 1]])
(defn f [x] (sum (** (attention x x x :causal true) 2)))
(defn written [x]
  (let [s (/ (@ x (transpose x)) (sqrt 2.0))
        s (where (<= (range 3) (reshape (range 3) [-1 1])) s -inf)]
    (sum (** (@ (softmax s) x) 2))))
(print (is-close ((hessian f) x) ((hessian written) x) :atol 1e-4 :rtol 1e-4)
       (is-close ((grad (fn [m] (sum (** (attention x x x :mask m) 2)))) (zeros [3 3]))
                 ((grad (fn [m] (sum (** (@ (softmax (+ (/ (@ x (transpose x)) (sqrt 2.0)) m)) x) 2)))) (zeros [3 3])) :atol 1e-5))
=> true true
--- written out, it is recognised where it is large, forward and under a gradient, and means the same
(defn data [shape seed] (reshape (/ (- (mod (+ (* 37 (range (reduce * 1 shape))) seed) 101) 50) 32) shape))
(def p {:q (data [2 70 12] 1) :k (data [2 70 12] 2) :v (data [2 70 12] 3)})
(def w (data [2 70 12] 4))
(def causal (<= (range 70) (reshape (range 70) [-1 1])))
(defn heads [x] (swapaxes (reshape x [2 70 3 4]) 1 2))
(defn merged [x] (reshape (swapaxes x 1 2) [2 70 12]))
(defn written [p mask]
  (let [scores (mask (@ (heads (get p :q)) (swapaxes (heads (get p :k)) -1 -2)))]
    (merged (@ (softmax scores) (heads (get p :v))))))
(def masks (list (fn [s] (where causal (* s 0.5) -inf)) (fn [s] (where causal (/ s 2) -1e9)) (fn [s] (where (> (range 70) (reshape (range 70) [-1 1])) -inf (/ s 2.0)))
                 (fn [s] (+ (* 0.5 s) (where causal 0 -inf))) (fn [s] (- (/ s 2) (where causal 0 1e9)))))
(defn same [mask]
  (let [f (fn [p] (written p mask))
        g (fn [p] (attention (get p :q) (get p :k) (get p :v) :heads 3 :causal true))
        loss (fn [f] (fn [p] (sum (* (f p) w))))]
    (f p)
    (and (is-close (f p) (g p) :rtol 1e-5 :atol 1e-5)
         (reduce (fn [ok key] (and ok (is-close (get ((grad (loss f)) p) key) (get ((grad (loss g)) p) key) :rtol 1e-4 :atol 1e-5))) true '[:q :k :v]))))
(map same masks)
=> [true, true, true, true, true]
--- what comes after it may be a loop, a branch or a print
(def q (reshape (/ (range 280) 280) [70 4]))
(defn written [q] (@ (softmax (@ q (transpose q))) q))
(defn library [q] (attention q q q :scale 1.0))
(defn looped [att q] (sum (reduce (fn [a i] (+ a (* 0.5 (sin (+ a i))))) (att q) (range 40))))
(defn branched [att q] (let [s (sum (att q))] (if (> s 0) (* s 2) (- s))))
(defn printed [att q] (let [s (sum (att q))] (when (> s 0) (print "positive")) (* s s)))
(defn agree [f]
  (f written q)
  (list (is-close (f written q) (f library q) :rtol 1e-5)
        (is-close ((grad (fn [q] (f written q))) q) ((grad (fn [q] (f library q))) q) :rtol 1e-4 :atol 1e-5)))
(map agree (list looped branched printed))
=> positive
=> positive
=> positive
=> positive
=> positive
=> [[true, true], [true, true], [true, true]]"""

main()
