"""Files that we write, read by the programs they are for: NumPy, PyTorch, safetensors, pandas, Pillow, the wave module
and TensorBoard. Needs those packages. Usage: python check_with_others.py PATH-OF-SHEAF (in any folder; it works in a
temporary one)
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import wave

import numpy as np
import pandas as pd
import torch
from PIL import Image
from safetensors import safe_open
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

PROGRAM = """
(def x (reshape (random-normal (random-key 0) [6]) [2 3]))
(io "save" "x.npy" x)
(io "save" "x.json" (map (fn [v] v) (reshape x [-1])))
(io "save" "all.npz" {:x x :n 3 :f 0.5 :b (> x 0) :i (range 4) :h (cast x :f16)})
(io "save" "folder/" {:x x :inner {:i (range 4)}})
(io "save" "state.safetensors" {:params {:w x :layers (list {:b [1 2]} {:b (cast [3 4] :bf16)})} :step 7 :name "run" :none nil :empty '[]})
(io "save" "checkpoint.pt" {:model (flat {:h (list {:w x} {:w (cast x :bf16)}) :tied (tr x) :empty (zeros [0 3]) :one (at x 1 2)})
                            :optimizer {:step 7 :far 12345678901 :lr 0.1 :state {:0 {:step 1} :1 {:step 2}} :none nil :fused false :betas (tuple 0.5 0.25) :groups (list "a" :b) :empty '[]}})
(io "save" "kinds.bin" (zipmap '["f64" "f16" "i64" "i32" "i16" "i8" "u8" "u16" "u32" "bool"] (map (fn [d] (cast [0 1 5] d)) '[:f64 :f16 :i64 :i32 :i16 :i8 :u8 :u16 :u32 :bool])))
(io "save" "tokens.bin" (cast (range 10) :u16))
(io "append" "tokens.bin" (cast (range 10 15) :u16))
(io "save" "table.csv" {:n (range 3) :x [0.1 -2.5 1e-7] :text '["a,b" "say \\"hi\\"" "plain"] :yes (> [1 -1 1] 0)})
(io "save" "grey.png" (reshape (cast (range 64) :u8) [8 8]))
(io "save" "rgb.png" (reshape (/ (range 48) 47.0) [4 4 3]))
(io "save" "rgb.jpg" (reshape (/ (range 48) 47.0) [4 4 3]) :quality 80)
(io "save" "jpg.npy" (io "load" "rgb.jpg"))
(io "save" "tone.wav" {:rate 8000 :samples (sin (* 0.1 (range 100)))})
(doseq [i (range 5)] (log-metrics "board" (* 10 i) {:loss (/ 1.0 (+ i 1)) :lr 0.5}))
(doseq [i (range 5)] (log-metrics "log.jsonl" i {:loss (/ 1.0 (+ i 1))}))
"""

sheaf = os.path.realpath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    open("a.shf", "w").write(PROGRAM)
    subprocess.run([sheaf, "a.shf"], check=True)
    x = np.load("x.npy")
    assert x.dtype == np.float32 and np.array_equal(x.flatten(), np.array(json.load(open("x.json")), np.float32))
    with np.load("all.npz") as z:
        assert np.array_equal(z["x"], x) and z["n"] == 3 and z["f"] == 0.5 and np.array_equal(z["b"], x > 0)
        assert (
            np.array_equal(z["i"], np.arange(4))
            and z["i"].dtype == np.int32
            and np.array_equal(z["h"], x.astype(np.float16))
        )
    assert np.array_equal(np.load("folder/x.npy"), x) and np.array_equal(np.load("folder/inner/i.npy"), np.arange(4))
    with safe_open("state.safetensors", "np") as f:
        assert np.array_equal(f.get_tensor("params.w"), x) and f.get_tensor("step") == 7
        assert set(f.keys()) == {"params.w", "params.layers.0.b", "params.layers.1.b", "step"}, set(f.keys())
    for mapped in (False, True):
        checkpoint = torch.load("checkpoint.pt", mmap=mapped, weights_only=True)
        assert list(checkpoint["model"]) == ["empty", "h.0.w", "h.1.w", "one", "tied"], checkpoint["model"].keys()
        assert np.array_equal(checkpoint["model"]["h.0.w"].numpy(), x) and torch.equal(
            checkpoint["model"]["h.1.w"], torch.tensor(x).bfloat16()
        )
        assert (
            np.array_equal(checkpoint["model"]["tied"].numpy(), x.T)
            and checkpoint["model"]["empty"].shape == (0, 3)
            and checkpoint["model"]["one"] == x[1, 2]
        )
    assert checkpoint["optimizer"] == {
        "step": 7,
        "far": 12345678901,
        "lr": 0.1,
        "state": {0: {"step": 1}, 1: {"step": 2}},
        "none": None,
        "fused": False,
        "betas": (0.5, 0.25),
        "groups": ["a", "b"],
        "empty": [],
    }
    module = torch.nn.Linear(3, 2, bias=False)
    module.load_state_dict({"weight": checkpoint["model"]["h.0.w"]})
    assert np.array_equal(module.weight.detach().numpy(), x)
    kinds = torch.load("kinds.bin", weights_only=True)
    names = {
        "f64": "float64",
        "f16": "float16",
        "i64": "int64",
        "i32": "int32",
        "i16": "int16",
        "i8": "int8",
        "u8": "uint8",
        "u16": "uint16",
        "u32": "uint32",
        "bool": "bool",
    }
    assert {k: str(v.dtype) for k, v in kinds.items()} == {k: "torch." + v for k, v in names.items()}
    assert all(v.tolist() == ([False, True, True] if k == "bool" else [0, 1, 5]) for k, v in kinds.items())
    assert np.array_equal(np.fromfile("tokens.bin", np.uint16), np.arange(15))
    frame = pd.read_csv("table.csv")
    assert (
        list(frame["n"]) == [0, 1, 2]
        and list(frame["text"]) == ["a,b", 'say "hi"', "plain"]
        and list(frame["yes"]) == [True, False, True]
    )
    assert np.array_equal(frame["x"].astype(np.float32), np.array([0.1, -2.5, 1e-7], np.float32))
    assert np.array_equal(np.asarray(Image.open("rgb.jpg")), np.load("jpg.npy"))
    assert np.array_equal(np.asarray(Image.open("grey.png")), np.arange(64, dtype=np.uint8).reshape(8, 8))
    assert np.array_equal(
        np.asarray(Image.open("rgb.png")), np.round(np.arange(48) / 47 * 255).astype(np.uint8).reshape(4, 4, 3)
    )
    with wave.open("tone.wav") as w:
        samples = np.frombuffer(w.readframes(100), "<i2")
        assert w.getframerate() == 8000 and np.abs(samples / 32768 - np.sin(0.1 * np.arange(100))).max() < 1e-4
    assert len(glob.glob("board/events.out.tfevents.*")) == 1
    board = EventAccumulator("board")
    board.Reload()
    assert sorted(board.Tags()["scalars"]) == ["loss", "lr"], board.Tags()
    assert [(e.step, e.value) for e in board.Scalars("loss")] == [
        (10 * i, float(np.float32(1 / (i + 1)))) for i in range(5)
    ]
    assert [r["step"] for r in map(json.loads, open("log.jsonl"))] == list(range(5))
print("all files are read as they were written")
