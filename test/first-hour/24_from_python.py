"""Python hands arrays over, Sheaf trains on them where they are, Python gets the weights. NumPy and PyTorch arrays go
the same way."""

from array import array

import sheaf

s = sheaf.Session()
s.eval("""
(def opt (adam {:lr 0.1}))
(defn start []
  (let [p {:W (zeros [2 1]) :b (zeros [1])}] (list p ((get opt :init) p))))
(defn loss [p x y] (mse-loss (dense x p) y))
(defn train-step [[p state] x y]
  (let [[l g] ((value-and-grad (fn [p] (loss p x y))) p)]
    (list l ((get opt :step) p g state))))
(defn same [x] x)
""")


def table(rows):
    return memoryview(array("f", sum(rows, []))).cast("B").cast("f", shape=[len(rows), len(rows[0])])


x = table([[i % 7 / 7, i % 5 / 5] for i in range(35)])
y = table([[3 * a - 2 * b + 1] for a, b in x.tolist()])

# The memory is shared: Sheaf reads values that Python writes.
kept = s.same(x)
x[0, 0] = 0.5
assert memoryview(kept)[0, 0] == 0.5
x[0, 0] = 0.0

state = s.start()
for step in range(300):
    loss, state = s.train_step(state, x, y)
weights = {name: memoryview(w).tolist() for name, w in state[0].items()}
print(f"loss {loss:.6f}, weights {weights}")
(a,), (b,) = weights["W"]
assert abs(a - 3) < 0.01 and abs(b + 2) < 0.01 and abs(weights["b"][0] - 1) < 0.01
