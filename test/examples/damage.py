"""Damages a file of safetensors: damage.py FILE drop|shape|lie|header NAME, where NAME is a tensor.
drop: the tensor is not there. shape: its sizes are another way round. lie: its sizes do not fit its bytes. header: the header is longer than the file."""
import json
import struct
import sys

path, what, name = sys.argv[1:]
data = open(path, "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
body = data[8 + length:]
if what == "drop":
    del header[name]
    header.pop("__metadata__", None)
elif what == "shape":
    header[name]["shape"] = header[name]["shape"][::-1] if len(header[name]["shape"]) > 1 else [1] + header[name]["shape"]
    header.pop("__metadata__", None)
elif what == "lie":
    header[name]["shape"][0] *= 1000
text = json.dumps(header).encode()
open(path, "wb").write(struct.pack("<Q", 10**15 if what == "header" else len(text)) + text + body)
