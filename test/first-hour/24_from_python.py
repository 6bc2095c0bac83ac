"""Python hands arrays over, Sheaf trains on them, Python gets the weights. Usage: 24_from_python.py PATH-OF-SHEAF"""
import json
import struct
import subprocess
import sys

PROGRAM = """
(def data (io "load" "data.json"))
(def x (tensor (get data :x)))
(def y (tensor (get data :y)))
(def opt (adam {:lr 0.1}))
(defn loss [p] (mse-loss (dense x p) y))
(let [p {:W (zeros [2 1]) :b (zeros [1])}
      [p s] (repeat [i 300] [state (list p ((get opt :init) p))]
              (let [[p s] state] ((get opt :step) p ((grad loss) p) s)))]
  (io "save" "weights.safetensors" p))
"""

x = [[i % 7 / 7, i % 5 / 5] for i in range(35)]
y = [[3 * a - 2 * b + 1] for a, b in x]
with open("data.json", "w") as f:
    json.dump({"x": x, "y": y}, f)
with open("train.shf", "w") as f:
    f.write(PROGRAM)
subprocess.run([sys.argv[1], "train.shf"], check=True)

# safetensors is simple enough to read by hand; the safetensors package gives the same
with open("weights.safetensors", "rb") as f:
    header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    data = f.read()
weights = {k: struct.unpack(f"<{(v['data_offsets'][1] - v['data_offsets'][0]) // 4}f", data[slice(*v["data_offsets"])])
           for k, v in header.items() if k != "__metadata__"}
print("weights", weights)
assert abs(weights["W"][0] - 3) < 0.01 and abs(weights["W"][1] + 2) < 0.01 and abs(weights["b"][0] - 1) < 0.01
