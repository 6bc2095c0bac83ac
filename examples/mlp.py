# A network written in Sheaf learns from NumPy arrays, which are not copied. Needs the module: pip install ./python
import numpy as np, sheaf

s = sheaf.Session(tensors="numpy")
s.eval("""(defn loss [p x y] (cross-entropy-loss (dense (tanh (dense x (:hidden p))) (:out p)) y))
          (defn train-step [p x y] (let [[l g] ((value-and-grad (fn [p] (loss p x y))) p)] (tuple l (sgd-step p g 0.5))))
          (def start {:hidden (dense-init (random-key 1) 2 32) :out (dense-init (random-key 2) 32 2)})""")
x = np.random.default_rng(0).standard_normal((500, 2), dtype=np.float32)
y, params = (x[:, 0] * x[:, 1] > 0).astype(np.float32), s.start
for step in range(1000):
    loss, params = s.train_step(params, x, y)
print(f"loss {float(loss):.4f}")
