"""Writes metrics.cases: scores against scikit-learn. Run by hand where it is installed:
python3 test/lang/make_metrics_cases.py > test/lang/metrics.cases"""

import numpy as np
from sklearn import metrics as m

rng = np.random.default_rng(0)


def text(x):
    return "[" + " ".join(text(v) for v in x) + "]" if isinstance(x, (list, np.ndarray)) else repr(float(x))


def case(title, program, value):
    value = np.asarray(value, np.float64)
    want = text(value.tolist()) if value.ndim else repr(float(value))
    print(f"--- {title}\n(is-close {program} {want} :rtol 2e-6 :atol 1e-7)\n=> true")


print(";;; Made by make_metrics_cases.py; do not edit.")
for n, classes in ((30, 4), (7, 6), (101, 2)):
    t, p = rng.integers(0, classes, n), rng.integers(0, classes, n)
    p[: n // 2] = t[: n // 2]
    a = f"{text(p)} {text(t)}"
    case(f"confusion-matrix, {n} of {classes}", f"(float (confusion-matrix {a} :classes {classes}))", m.confusion_matrix(t, p, labels=range(classes)))
    for average in ("macro", "weighted", "micro", None) + (("binary",) if classes == 2 else ()):
        # Classes in neither are scored here too, as 0.
        labels = range(classes)
        o = f":average :{average or 'none'} :classes {classes}"
        k = dict(average=average, zero_division=0, **({} if average == "binary" else {"labels": labels}))
        case(f"precision, {average}, {n} of {classes}", f"(precision {a} {o})", m.precision_score(t, p, **k))
        case(f"recall, {average}, {n} of {classes}", f"(recall {a} {o})", m.recall_score(t, p, **k))
        case(f"f-score, {average}, {n} of {classes}", f"(f-score {a} {o})", m.f1_score(t, p, **k))
        case(f"f-score, beta 2, {average}, {n} of {classes}", f"(f-score {a} {o} :beta 2)", m.fbeta_score(t, p, beta=2, **k))
for n, levels in ((40, 1000), (40, 5), (3, 2)):
    s = rng.integers(0, levels, n) / levels
    t = rng.integers(0, 2, n)
    t[:2] = (0, 1)
    a = f"{text(s)} {text(t)}"
    case(f"roc-auc, {n} scores of {levels}", f"(roc-auc {a})", m.roc_auc_score(t, s))
    case(f"average-precision, {n} scores of {levels}", f"(average-precision {a})", m.average_precision_score(t, s))
    fpr, tpr, _ = m.roc_curve(t, s, drop_intermediate=False)
    case(f"roc-curve, {n} scores of {levels}, fpr", f"(cast (:fpr (roc-curve {a})) :f32)", fpr)
    case(f"roc-curve, {n} scores of {levels}, tpr", f"(cast (:tpr (roc-curve {a})) :f32)", tpr)
logits, y = rng.normal(size=(20, 5)).round(2), rng.integers(0, 5, 20)
for k in (1, 2, 5):
    case(f"top-{k}-accuracy", f"(top-k-accuracy {text(logits)} {text(y)} {k})", m.top_k_accuracy_score(y, logits, k=k, labels=range(5)))
p, t = rng.normal(size=25).round(2), rng.normal(size=25).round(2)
case("r2-score", f"(r2-score {text(p)} {text(t)})", m.r2_score(t, p))
case("r2-score of a constant", "(r2-score [1 2] [1 1])", m.r2_score([1, 1], [1, 2]))
case("r2-score of a constant that is met", "(r2-score [1 1] [1 1])", m.r2_score([1, 1], [1, 1]))
case("mean-absolute-error", f"(mean-absolute-error {text(p)} {text(t)})", m.mean_absolute_error(t, p))
case("mean-squared-error", f"(mean-squared-error {text(p)} {text(t)})", m.mean_squared_error(t, p))
case("root-mean-squared-error", f"(root-mean-squared-error {text(p)} {text(t)})", m.root_mean_squared_error(t, p))
print(
    """--- train-test-split is the same rows in two parts
(let [[a b] (train-test-split 3 {:x (arange 101) :y (* 2 (arange 101))} :test 0.3)]
  (print (shape (:x a)) (shape (:x b)) (equal? (sort (concat (:x a) (:x b))) (arange 101))
         (equal? (* 2 (:x b)) (:y b)) (equal? (:x a) (sort (:x a)))))
=> [70.] [31.] true true false
--- train-test-split by classes keeps their shares
(let [y (concat (zeros [60]) (ones [30]) (full [10] 2))
      [a b] (train-test-split 3 {:y y :i (arange 100)} :test 0.2 :by y)]
  (print (map (fn [k] (sum (== (:y b) k))) '[0 1 2]) (shape (:y a)) (equal? (sort (concat (:i a) (:i b))) (arange 100))))
=> [12.0, 6.0, 2.0] [80.] true
--- train-test-split of nothing, and of all
(map (fn [n] (map shape (train-test-split 0 (zeros [4 2]) :test n))) '[0 4])
=> [[[4. 2.], [0. 2.]], [[0. 2.], [4. 2.]]]
--- train-test-split, too many
(train-test-split 0 (zeros [4 2]) :test 5)
!! train-test-split: :test must be a part of the rows or at most their number, 4, got 5"""
)
