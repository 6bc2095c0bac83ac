"""Damages a file of safetensors: damage.py FILE drop|shape|lie|dtype|unknown|overlap|outside|header|shard NAME,
zeros|add NAME SIZES…, rename NAME OTHER.
drop: the tensor is not there. shape: its sizes are another way round. lie: its sizes do not fit its bytes. dtype: it is
of integers. unknown: it is of a type that there is not.
overlap: it lies where another one does. outside: it lies beyond the end. header: the header is longer than the file.
zeros: all that have NAME in their names are zeros of other sizes. add: so is a new one. rename: what begins with NAME
begins with OTHER.
shard: the file becomes the only shard of an index, which says that NAME is there too (a whole index if there is such a
tensor)."""

import json
import math
import os
import struct
import sys

path, what, name, *more = sys.argv[1:]
data = open(path, "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + length])
body = data[8 + length :]


def take_out(key):
    """The tensor with its bytes, so that no gap is left."""
    global body
    begin, end = header.pop(key)["data_offsets"]
    header.pop("__metadata__", None)
    for entry in header.values():
        entry["data_offsets"] = [at - (end - begin) if at >= end else at for at in entry["data_offsets"]]
    body = body[:begin] + body[end:]


if what == "drop":
    take_out(name)
elif what == "shape":
    header[name]["shape"] = (
        header[name]["shape"][::-1] if len(header[name]["shape"]) > 1 else [1] + header[name]["shape"]
    )
    header.pop("__metadata__", None)
elif what == "lie":
    header[name]["shape"][0] *= 1000
elif what == "dtype":
    header[name]["dtype"] = "I32"
elif what == "unknown":
    header[name]["dtype"] = "C64"
elif what in ("overlap", "outside"):
    begin, end = header[name]["data_offsets"]
    by = len(body) - begin if what == "outside" else 4 if begin == 0 else -4
    header[name]["data_offsets"] = [begin + by, end + by]
elif what in ("zeros", "add"):
    sizes = [int(n) for n in more]
    for key in [name] if what == "add" else [key for key in header if name in key and key != "__metadata__"]:
        if key in header:
            take_out(key)
        header[key] = {"dtype": "F32", "shape": sizes, "data_offsets": [len(body), len(body) + 4 * math.prod(sizes)]}
        body += bytes(4 * math.prod(sizes))
    header.pop("__metadata__", None)
elif what == "rename":
    header = {
        key.replace(name, more[0], 1) if key.startswith(name) else key: value
        for key, value in header.items()
        if key != "__metadata__"
    }
elif what == "shard":
    shard = "model-1.safetensors"
    with open(path + ".index.json", "w") as index:
        json.dump({"weight_map": {key: shard for key in [*header, name] if key != "__metadata__"}}, index)
    os.remove(path)
    path = os.path.join(os.path.dirname(path), shard)
text = json.dumps(header).encode()
open(path, "wb").write(struct.pack("<Q", 10**15 if what == "header" else len(text)) + text + body)
