"""Adds to goldens/: PyTorch checkpoints, pictures, sound, tables and sharded safetensors, each beside the JSON of what
it must load as. Needs numpy, ml_dtypes, safetensors, torch, pillow and pandas. Run from this folder: python
make_file_goldens.py
"""

import gzip
import json
import os
import shutil
import struct
import subprocess
import wave
import zipfile

import numpy as np
import pandas as pd
import torch
from PIL import Image
from safetensors.numpy import save_file

from make_goldens import OUT, expect

RNG = np.random.default_rng(11)


def path(name):
    return os.path.join(OUT, name)


def as_arrays(v):
    """Tensors as NumPy arrays; bfloat16 has no NumPy type of its own, so it goes by way of ml_dtypes."""
    if isinstance(v, torch.Tensor):
        if v.dtype == torch.bfloat16:
            import ml_dtypes

            return v.detach().contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return v.detach().contiguous().numpy()
    if isinstance(v, dict):
        return {k: as_arrays(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)) and not isinstance(v, torch.Size):
        return type(v)(as_arrays(x) for x in v)
    return tuple(v) if isinstance(v, torch.Size) else v


def deflate(source, target):
    """The same archive with compressed entries, as zip programs write it."""
    with zipfile.ZipFile(path(source)) as stored, zipfile.ZipFile(path(target), "w") as out:
        for entry in stored.infolist():
            out.writestr(zipfile.ZipInfo(entry.filename), stored.read(entry), zipfile.ZIP_DEFLATED)


def make_torch():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    kinds = {
        str(d).split(".")[1]: torch.tensor([0, 1, 5]).to(d)
        for d in (
            torch.float32,
            torch.float64,
            torch.float16,
            torch.bfloat16,
            torch.int64,
            torch.int32,
            torch.int16,
            torch.int8,
            torch.uint8,
            torch.bool,
        )
    }
    things = {
        "state": model.state_dict(),
        "kinds": kinds,
        "views": {
            "rows": base[1:3],
            "columns": base.t(),
            "one": base[2, 3],
            "spread": torch.ones(1).expand(3),
            "empty": torch.zeros(0, 3),
        },
        # as nanoGPT writes them
        "checkpoint": {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "model_args": {"n_layer": 2, "bias": False, "dropout": 0.5},
            "iter_num": 7,
            "best_val_loss": torch.tensor(1.5),
            "config": {"out_dir": "out", "always_save": True, "device": None},
        },
        "parameter": {"w": torch.nn.Parameter(torch.ones(2, 2)), "size": torch.Size([2, 3])},
    }
    for name, value in things.items():
        torch.save(value, path(f"torch-{name}.pt"))
        torch.save(value, path(f"torch-{name}-old.pt"), _use_new_zipfile_serialization=False)
        for file in (f"torch-{name}.pt", f"torch-{name}-old.pt"):
            expect(file, as_arrays(value))
    deflate("torch-state.pt", "torch-state-deflated.pt")
    expect("torch-state-deflated.pt", as_arrays(things["state"]))


def make_pictures():
    grey = RNG.integers(0, 256, (5, 7), np.uint8)
    colour = RNG.integers(0, 256, (6, 5, 3), np.uint8)
    ramp = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5
    for name, a, mode in (
        ("grey", grey, "L"),
        ("rgb", colour, "RGB"),
        ("rgba", RNG.integers(0, 256, (4, 3, 4), np.uint8), "RGBA"),
        ("la", RNG.integers(0, 256, (4, 3, 2), np.uint8), "LA"),
        ("ramp", ramp, "L"),
    ):
        Image.fromarray(a, mode).save(path(name + ".png"))
        expect(name + ".png", a)
    bits = grey > 128
    Image.fromarray(bits).convert("1").save(path("bits.png"))
    expect("bits.png", np.where(bits, 255, 0).astype(np.uint8))
    wide = RNG.integers(0, 65536, (3, 4), np.uint16)
    Image.fromarray(wide).save(path("wide.png"))
    expect("wide.png", wide)
    palette = Image.fromarray(colour, "RGB").quantize(8)
    palette.save(path("palette.png"))
    expect("palette.png", np.asarray(palette.convert("RGB")))
    photo = Image.fromarray(RNG.integers(0, 256, (20, 30, 3), np.uint8), "RGB").resize((40, 33), Image.BICUBIC)
    photo.save(path("photo.png"), optimize=True)  # uses every filter
    expect("photo.png", np.asarray(photo))


def make_sound():
    t = np.sin(np.arange(20) * 0.7)
    for width, scale in ((1, 127), (2, 32767), (3, 8388607), (4, 2147483647)):
        ints = np.round(t * scale).astype(np.int64)
        raw = b"".join(
            int(v + 128).to_bytes(1, "little") if width == 1 else int(v).to_bytes(width, "little", signed=True)
            for v in ints
        )
        name = f"sound{8 * width}.wav"
        with wave.open(path(name), "wb") as w:
            w.setnchannels(1 if width != 2 else 2)
            w.setsampwidth(width)
            w.setframerate(16000)
            w.writeframes(raw)
        values = (ints / 2.0 ** (8 * width - 1)).astype(np.float32)
        expect(name, {"rate": 16000, "samples": values if width != 2 else values.reshape(-1, 2)})
    floats = t.astype("<f4")
    body = (
        b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 3, 1, 8000, 32000, 4, 32)
        + b"LIST"
        + struct.pack("<I", 3)
        + b"abc\0"
        + b"data"
        + struct.pack("<I", floats.nbytes)
        + floats.tobytes()
    )
    with open(path("floats.wav"), "wb") as f:
        f.write(b"RIFF" + struct.pack("<I", len(body)) + body)
    expect("floats.wav", {"rate": 8000, "samples": floats})


def make_tables():
    frame = pd.DataFrame(
        {
            "n": [1, -2, 3],
            "big": [1, 1 << 40, 0],
            "x": [0.5, None, -1e-3],
            "yes": [True, False, True],
            "text": ["a,b", 'say "hi"', "two\nlines"],
            "mixed": ["1", "x", ""],
        }
    )
    frame.to_csv(path("frame.csv"), index=False)
    frame.to_csv(path("frame.tsv"), index=False, sep="\t")
    columns = {
        "n": np.array([1, -2, 3], np.int32),
        "big": np.array([1, 1 << 40, 0]),
        "x": np.array([0.5, 9, -1e-3], np.float32),
        "yes": np.array([True, False, True]),
        "text": ["a,b", 'say "hi"', "two\nlines"],
        "mixed": ["1", "x", ""],
    }
    for name in ("frame.csv", "frame.tsv"):
        expect(name, columns)
        # NaN has no JSON of its own: null stands for it in data
        text = open(path(name + ".expected.json")).read()
        open(path(name + ".expected.json"), "w").write(text.replace("9.0", "null"))
    matrix = np.round(RNG.normal(size=(4, 3)), 3).astype(np.float32)
    np.savetxt(path("matrix.csv"), matrix, delimiter=",", fmt="%.6g")
    expect("matrix.csv", np.loadtxt(path("matrix.csv"), delimiter=",", dtype=np.float32))
    rows = [{"step": 1, "loss": 0.5, "tags": ["a"]}, {"step": 2, "loss": None}, [1, 2], "x"]
    with open(path("rows.jsonl"), "w") as f:
        f.write("\n".join(json.dumps(r) for r in rows) + "\n\n")
    expect("rows.jsonl", rows)


def make_shards():
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    parts = [{"layers.0.w": w, "head": w[0]}, {"layers.1.w": w + 1}]
    index = {"metadata": {"total_size": 60}, "weight_map": {}}
    for i, part in enumerate(parts):
        name = f"model-{i + 1:05}-of-00002.safetensors"
        save_file(part, path(name))
        index["weight_map"].update({k: name for k in part})
    with open(path("model.safetensors.index.json"), "w") as f:
        json.dump(index, f)
    expect("model.safetensors.index.json", {"layers": [{"w": w}, {"w": w + 1}], "head": w[0]})


def make_compressed():
    """By gzip, and by the program zstd."""
    for name in ("frame.csv", "float32.npy"):
        with open(path(name), "rb") as f, open(path(name + ".gz"), "wb") as packed:
            packed.write(gzip.compress(f.read(), mtime=0))
        subprocess.run(["zstd", "-q", "-f", "-19", path(name), "-o", path(name + ".zst")], check=True)
        for end in (".gz", ".zst"):
            shutil.copy(path(name + ".expected.json"), path(name + end + ".expected.json"))


if __name__ == "__main__":
    make_torch()
    make_pictures()
    make_sound()
    make_tables()
    make_compressed()
    make_shards()
