"""A classifier written in Sheaf learns from NumPy arrays; neither the inputs nor the parameters are copied."""
import numpy as np, sheaf
s = sheaf.Session(tensors="numpy")
s.eval("""(defn loss [p x y] (cross-entropy-loss (dense (tanh (dense x (:hidden p))) (:out p)) y))
          (defn train-step [p x y] (let [[l g] ((value-and-grad (fn [p] (loss p x y))) p)] [l (sgd-step p g 0.5)]))""")
rng = np.random.default_rng(0)
x = rng.standard_normal((500, 2), dtype=np.float32)
y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)
layer = lambda n, m: {"W": rng.standard_normal((n, m), dtype=np.float32) / n**0.5, "b": np.zeros(m, np.float32)}
params = {"hidden": layer(2, 32), "out": layer(32, 2)}
for step in range(300): loss, params = s.train_step(params, x, y)
print(f"loss {float(loss):.4f}")
