# Milliseconds to encode a file with a tokenizer, and the number of ids: whole, as its lines over all cores, and its
# paragraphs with the offsets of tokens.
import sys
import time

from tokenizers import Tokenizer

tok = Tokenizer.from_file(sys.argv[1])
with open(sys.argv[2], encoding="utf-8", newline="") as f:
    text = f.read()
lines = text.splitlines(keepends=True)
start = time.perf_counter()
count = len(tok.encode(text, add_special_tokens=False).ids)
print("whole", (time.perf_counter() - start) * 1e3, count)
start = time.perf_counter()
count = sum(len(e.ids) for e in tok.encode_batch_fast(lines, add_special_tokens=False))
print("lines", (time.perf_counter() - start) * 1e3, count)
paragraphs = text.split("\n\n")
start = time.perf_counter()
count = sum(len(e.ids) for e in tok.encode_batch(paragraphs, add_special_tokens=False))
print("offsets", (time.perf_counter() - start) * 1e3, count)
