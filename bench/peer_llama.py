#!/usr/bin/env python3
"""llama.cpp's side of generation: GPT-2 124M with random weights, greedy, a forward of a prompt of 8 tokens and 99
forwards of one token with a cache.

  peer_llama.py --weights f32|bf16|f16|q8|q4 --folder DIR [--threads N] [--budget SECONDS]
Writes DIR/gpt2-WEIGHTS.gguf when it is not there. Prints one JSON line for attention with and without its flash kernel:
{"work", "mode", "ms", "first_ms", "n", "peak_rss_mb"}; ms is the median of whole generations.
The head is the table of embeddings, as in the model; it is read in the same kind of numbers as the linears. Keys and
values are cached as f16, which is the default.
"""

import argparse
import ctypes
import json
import os
import resource
import statistics
import time

import gguf
import llama_cpp
import numpy as np

VOCABULARY, POSITIONS, LAYERS, HEADS, WIDTH, PROMPT, TOKENS = 50257, 1024, 12, 12, 768, 8, 100
KINDS = {
    "f32": gguf.GGMLQuantizationType.F32,
    "bf16": gguf.GGMLQuantizationType.BF16,
    "f16": gguf.GGMLQuantizationType.F16,
    "q8": gguf.GGMLQuantizationType.Q8_0,
    "q4": gguf.GGMLQuantizationType.Q4_0,
}


def write(path, kind):
    numbers = np.random.default_rng(0)
    out = gguf.GGUFWriter(path, "gpt2")
    out.add_block_count(LAYERS)
    out.add_context_length(POSITIONS)
    out.add_embedding_length(WIDTH)
    out.add_feed_forward_length(4 * WIDTH)
    out.add_head_count(HEADS)
    out.add_layer_norm_eps(1e-5)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list([f"t{i}" for i in range(VOCABULARY)])
    out.add_token_merges(["t 0"])

    def matrix(name, rows, columns, kind=kind):
        x = (0.02 * numbers.standard_normal((rows, columns))).astype(np.float32)
        out.add_tensor(name, gguf.quants.quantize(x, kind), raw_dtype=kind)

    def vector(name, size, value=0.0):
        out.add_tensor(name, np.full(size, value, np.float32))

    def norm(name):
        vector(name + ".weight", WIDTH, 1.0)
        vector(name + ".bias", WIDTH)

    def dense(name, rows, columns):
        matrix(name + ".weight", columns, rows)
        vector(name + ".bias", columns)

    matrix("token_embd.weight", VOCABULARY, WIDTH)
    matrix("position_embd.weight", POSITIONS, WIDTH, KINDS["f32"])
    norm("output_norm")
    for i in range(LAYERS):
        at = f"blk.{i}."
        norm(at + "attn_norm")
        norm(at + "ffn_norm")
        dense(at + "attn_qkv", WIDTH, 3 * WIDTH)
        dense(at + "attn_output", WIDTH, WIDTH)
        dense(at + "ffn_up", WIDTH, 4 * WIDTH)
        dense(at + "ffn_down", 4 * WIDTH, WIDTH)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def load(path):
    # Messages about loading are discarded; the callback must live as long as the library.
    load.log = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(load.log, ctypes.c_void_p())
    llama_cpp.llama_backend_init()
    return llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())


def new_context(model, threads, flash):
    wanted = llama_cpp.llama_context_default_params()
    wanted.n_ctx = 128
    wanted.n_threads = wanted.n_threads_batch = threads
    wanted.flash_attn_type = (
        llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    wanted.no_perf = True
    return llama_cpp.llama_init_from_model(model, wanted)


def next_token(context, tokens):
    """The best token after the last of `tokens`; no other position computes logits."""
    ids = (llama_cpp.llama_token * len(tokens))(*tokens)
    if llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(ids, len(tokens))):
        raise RuntimeError("llama_decode failed")
    return int(np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (VOCABULARY,)).argmax())


def generate(context, prompt, count):
    llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), False)
    tokens = []
    for _ in range(count):
        tokens.append(next_token(context, tokens[-1:] or prompt))
    # One cell of the cache for each token that was given: all forwards were done.
    held = llama_cpp.llama_memory_seq_pos_max(llama_cpp.llama_get_memory(context), 0) + 1
    if held != len(prompt) + count - 1:
        raise RuntimeError(f"{held} tokens are in the cache")
    return tokens


def clock(call):
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e3


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--weights", choices=list(KINDS), required=True)
    options.add_argument("--folder", required=True)
    options.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--budget", type=float, default=1.0)
    given = options.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    path = os.path.join(given.folder, f"gpt2-{given.weights}.gguf")
    if not os.path.exists(path):
        write(path + ".new", KINDS[given.weights])
        os.rename(path + ".new", path)
    model = load(path)
    prompt = [int(x) for x in np.random.default_rng(1).integers(0, VOCABULARY, PROMPT)]
    for flash in [True, False]:
        context = new_context(model, given.threads, flash)
        run = lambda: generate(context, prompt, TOKENS)
        first = clock(run)
        times = []
        while len(times) < 3 or sum(times) < given.budget * 1e3:
            times.append(clock(run))
        llama_cpp.llama_free(context)
        print(
            json.dumps(
                {
                    "work": "gen/gpt2-124m-100tok-kvcache",
                    "mode": given.weights + (" flash" if flash else ""),
                    "ms": statistics.median(times),
                    "first_ms": first,
                    "n": len(times),
                    "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                }
            ),
            flush=True,
        )


main()
