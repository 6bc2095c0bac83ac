"""Writes goldens/: files made by NumPy, safetensors and pickle, each beside the JSON of what it must load as.

Needs numpy, safetensors and ml_dtypes. Run from this folder: python make_goldens.py
"""

import collections
import json
import os
import pickle
import sys
import types

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
NAMES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "i64",
    "bool": "bool",
}
RNG = np.random.default_rng(7)


def arrays():
    """One small array of every dtype we hold, with the values that go wrong first."""
    out = {}
    for name in ("float32", "float64", "float16", "bfloat16"):
        dtype = ml_dtypes.bfloat16 if name == "bfloat16" else name
        values = np.concatenate([RNG.normal(size=4), [0.0, -0.0, 1e-7, 0.1]]).astype(dtype)
        out[name] = values.reshape(2, 4)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"):
        info = np.iinfo(name)
        out[name] = np.array([info.min, -1 if info.min < 0 else 1, 0, 7, info.max, 100], name).reshape(3, 2)
    out["bool"] = np.array([True, False, True])
    return out


def tagged(v):
    """The value as the JSON our loader reads back."""
    if isinstance(v, (np.ndarray, np.generic)):
        a = np.asarray(v)
        flat = a.astype(np.float64) if a.dtype.name in ("float16", "float32", "bfloat16") else a
        return {"__tensor": True, "data": flat.flatten().tolist(), "dtype": NAMES[a.dtype.name], "shape": list(a.shape)}
    if isinstance(v, tuple):
        return {"__tuple": [tagged(x) for x in v]}
    if isinstance(v, (bytes, bytearray)):
        return list(v)
    if isinstance(v, list):
        return [tagged(x) for x in v]
    if isinstance(v, dict):
        return {str(k): tagged(x) for k, x in v.items()}
    return v


def expect(name, value):
    with open(os.path.join(OUT, name + ".expected.json"), "w") as f:
        json.dump(tagged(value), f)


def write(name, data, value):
    with open(os.path.join(OUT, name), "wb") as f:
        f.write(data)
    expect(name, value)


class JaxArray:
    """Pickles the way a JAX array does, without JAX."""

    def __init__(self, array):
        self.array = array

    def __reduce__(self):
        fun, args, state = self.array.__reduce__()
        return reconstruct, (fun, args, state, {"weak_type": False})


def _reconstruct_array(*args):
    raise NotImplementedError


def install_fake_jax():
    for name in ("jax", "jax._src", "jax._src.array"):
        sys.modules[name] = types.ModuleType(name)
    _reconstruct_array.__module__ = "jax._src.array"
    sys.modules["jax._src.array"]._reconstruct_array = _reconstruct_array
    return _reconstruct_array


class Unknown:
    """Something our loader knows nothing about: an error, or nil where objects are skipped."""

    def __reduce__(self):
        return types.SimpleNamespace, ()


def make_pickles():
    shared = [1, 2]
    plain = {
        "none": None,
        "yes": True,
        "no": False,
        "small": 5,
        "byte": 200,
        "two": 60000,
        "four": -70000,
        "long": 1 << 40,
        "negative": -(1 << 62),
        "most": -(1 << 63),
        "zero": 0,
        "float": 0.1,
        "text": "héllo ☃",
        "long text": "x" * 300,
        "list": [1, "a", [], [2.5]],
        "empty": {},
        "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
        "shared": [shared, shared],
        3: "int key",
        "ordered": collections.OrderedDict(b=1, a=2),
        "nested": {"deep": {"er": [(None,)]}},
    }
    numbers = arrays()
    big = {
        k + " big": v.astype(v.dtype.newbyteorder(">"))
        for k, v in numbers.items()
        if k in ("float32", "int64", "int16")
    }
    big_expected = {k + " big": numbers[k] for k in ("float32", "int64", "int16")}
    fortran = np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    shuffled = np.ascontiguousarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)).transpose(1, 0, 2)
    more = {
        "fortran": fortran,
        "shuffled": shuffled,
        "zero-d": np.array(2.5, np.float32),
        "empty": np.zeros((0, 3), np.float32),
        "scalar": np.float64(0.1),
        "int scalar": np.int64(1 << 40),
        "bool scalar": np.bool_(True),
        "strided": np.arange(10, dtype=np.int32)[::3],
        "u64": np.array([1, 2], np.uint64),
    }
    some_bytes = [b"\x00\x7f\x80\xff", b"y" * 300, b"", bytearray(b"\xfe\x01"), bytearray()]
    for protocol in (2, 3, 4, 5):
        write(f"plain{protocol}.pkl", pickle.dumps(plain, protocol), plain)
        write(
            f"arrays{protocol}.pkl",
            pickle.dumps({**numbers, **big, **more}, protocol),
            {**numbers, **big_expected, **more},
        )
        write(f"bytes{protocol}.pkl", pickle.dumps(some_bytes, protocol), some_bytes)
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        write(f"jax{protocol}.pkl", pickle.dumps({"w": JaxArray(a)}, protocol), {"w": a})
        write(f"unknown{protocol}.pkl", pickle.dumps([1, Unknown(), 2], protocol), [1, None, 2])


def make_safetensors():
    def save(name, flat, value):
        path = os.path.join(OUT, name)
        save_file(flat, path, metadata={"format": "np"})
        expect(name, value)

    numbers = arrays()
    save("dtypes.safetensors", numbers, numbers)
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = np.array([1.5, -2.5], np.float32)
    flat = {f"layers.{i}.w": w + i for i in range(11)}
    flat.update(
        {
            "layers.10.b": b,
            "head.bias": b,
            "step": np.array(7, np.int32),
            "odd.0": b,
            "odd.2": b,
            "one.0": b,
            "zero": np.zeros((0, 4), np.float32),
        }
    )
    layers = [{"w": w + i} for i in range(11)]
    layers[10]["b"] = b
    save(
        "tree.safetensors",
        flat,
        {
            "layers": layers,
            "head": {"bias": b},
            "step": np.array(7, np.int32),
            "odd": {"0": b, "2": b},
            "one": [b],
            "zero": np.zeros((0, 4), np.float32),
        },
    )


def make_npy():
    for name, a in arrays().items():
        path = os.path.join(OUT, name + ".npy")
        np.save(path, a)
        expect(name + ".npy", a)
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    extra = {"fortran": np.asfortranarray(a), "scalar": np.array(3, np.int32), "one": a[0]}
    for name, v in extra.items():
        np.save(os.path.join(OUT, name + ".npy"), v)
        expect(name + ".npy", v)
    np.save(os.path.join(OUT, "big.npy"), a.astype(">f4"))
    expect("big.npy", a)
    with open(os.path.join(OUT, "version2.npy"), "wb") as f:
        np.lib.format.write_array(f, a, version=(2, 0))
    expect("version2.npy", a)
    np.savez(os.path.join(OUT, "stored.npz"), w=a, n=np.array(3, np.int64))
    expect("stored.npz", {"w": a, "n": np.array(3, np.int64)})
    np.savez_compressed(os.path.join(OUT, "compressed.npz"), w=np.zeros((4, 4), np.float32))


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    reconstruct = install_fake_jax()
    make_pickles()
    make_safetensors()
    make_npy()
