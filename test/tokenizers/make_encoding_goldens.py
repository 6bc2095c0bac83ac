#!/usr/bin/env python3
"""Makes goldens/encodings.json: what the `tokenizers` library (0.23.3) gives besides ids, for the strings and
tokenizers of make_goldens.py: segments, special tokens, offsets, words, parts that were cut off, padding.

Each tokenizer is a golden one with some of its parts replaced. A row is written as one text, a token after the other;
the file holds hashes of it: a hash for each string by itself, and one for each of some random requests.
"""

import json
import os
import random

from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "goldens")


def hash_of(text):
    h = 2166136261
    for b in text.encode():
        h = (h ^ b) * 16777619 & 0xFFFFFFFF
    return f"{h:08x}"


def sequence(*parts):
    return {"type": "Sequence", "normalizers": list(parts)}


def replace(regex, content):
    return {"type": "Replace", "pattern": {"Regex": regex}, "content": content}


def byte_level(prefix_space):
    return {"type": "ByteLevel", "add_prefix_space": prefix_space, "trim_offsets": True, "use_regex": True}


def roberta(prefix_space):
    return {
        "type": "RobertaProcessing",
        "sep": ["<|endoftext|>", 0],
        "cls": ["<|endoftext|>", 0],
        "trim_offsets": True,
        "add_prefix_space": prefix_space,
    }


VARIANTS = {
    "gpt2": ("gpt2", {}),
    "llama3": ("llama3", {}),
    "bert": ("bert", {}),
    "t5": ("t5", {}),
    "llama2": ("llama2", {}),
    "metaspace": ("metaspace", {}),
    "mixed": ("mixed", {}),
    "roberta": ("gpt2", {"post_processor": roberta(True), "pre_tokenizer": byte_level(True)}),
    "roberta-plain": ("gpt2", {"post_processor": roberta(False)}),
    "gpt2-trims": ("gpt2", {"post_processor": byte_level(True), "pre_tokenizer": byte_level(True)}),
    "bert-processing": (
        "bert",
        {
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": False,
                "lowercase": False,
            },
        },
    ),
    "nfkc": ("gpt2", {"normalizer": {"type": "NFKC"}}),
    "nfc": ("gpt2", {"normalizer": {"type": "NFC"}}),
    "nfkd": ("mixed", {"normalizer": {"type": "NFKD"}}),
    "chain": (
        "gpt2",
        {
            "normalizer": sequence(
                {"type": "NFD"},
                {"type": "StripAccents"},
                {"type": "Lowercase"},
                replace(r"\s+", " "),
                replace(r"[0-9]+", "<number>"),
                {"type": "Strip", "strip_left": True, "strip_right": True},
                {"type": "Prepend", "prepend": "~"},
            )
        },
    ),
    "bytes": (
        "gpt2",
        {
            "normalizer": sequence({"type": "Nmt"}, {"type": "ByteLevel"}),
            "pre_tokenizer": {"type": "Split", "pattern": {"String": "Ġ"}, "behavior": "MergedWithNext", "invert": False},
        },
    ),
}


# Their post-processors have one segment for both texts. The library reports this for a pair, but not for the part that
# was cut off.
ONE_SEGMENT = {"llama3", "t5", "llama2", "metaspace", "roberta", "roberta-plain"}


def row(e, types=None):
    columns = zip(e.ids, types or e.type_ids, e.special_tokens_mask, e.attention_mask, e.offsets, e.word_ids)
    return ";".join(f"{i},{t},{s},{a},{o[0]},{o[1]},{-1 if w is None else w}" for i, t, s, a, o, w in columns)


def rows(e, name):
    def types(r):
        return [t * (1 - a) for t, a in zip(r.type_ids, r.attention_mask)] if name in ONE_SEGMENT else r.type_ids

    return "|".join([row(e), *(row(r, types(r)) for r in e.overflowing)])


def is_deleted(c):
    """By the table of t5. The library then counts offsets wrong: by one from there on at the start of a text."""
    return c in "\ufeff\u00ad"


def request(rng, strings):
    """A random request: texts, and how they are cut and padded."""
    r = {"special": rng.random() < 0.7, "truncation": None, "padding": None}
    count = rng.choice([1, 1, 3, 5])
    usable = [i for i, s in enumerate(strings) if not any(map(is_deleted, s))]
    r["texts"] = rng.choices(usable, k=count)
    r["pairs"] = rng.choices(usable, k=count) if rng.random() < 0.6 else None
    if rng.random() < 0.8:
        strategies = ["longest_first"] * 2 + ["only_first"] + (["only_second"] if r["pairs"] else [])
        r["truncation"] = {
            "max_length": rng.choice([0, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24]),
            "stride": rng.choice([0, 0, 1, 2, 3]),
            "strategy": rng.choice(strategies),
            "direction": rng.choice(["right", "right", "left"]),
        }
    if rng.random() < 0.6:
        r["padding"] = {
            "direction": rng.choice(["right", "left"]),
            "pad_id": rng.randrange(10),
            "pad_type_id": rng.randrange(3),
            "pad_token": "<pad>",
            "length": rng.choice([None, None, 3, 16, 20]),
            "pad_to_multiple_of": rng.choice([None, None, 4, 7]),
        }
    return r


def answer(tok, name, r, strings):
    tok.no_truncation()
    tok.no_padding()
    if r["truncation"]:
        t = r["truncation"]
        # A length without room for the special tokens wraps around in the library, and a stride that leaves no room for
        # more is an error only where something is cut.
        room = t["max_length"]
        if r["special"]:
            room -= tok.num_special_tokens_to_add(r["pairs"] is not None)
        if room < 0 or (t["stride"] > 0 and t["stride"] >= room):
            return None
        try:
            tok.enable_truncation(**t)
        except ValueError:  # it counts special tokens with the stride also where there are none
            return "--------"
    if r["padding"]:
        tok.enable_padding(**r["padding"])
    try:
        texts = [strings[i] for i in r["texts"]]
        inputs = list(zip(texts, [strings[i] for i in r["pairs"]])) if r["pairs"] else texts
        encodings = tok.encode_batch(inputs, add_special_tokens=r["special"])
        out = [rows(e, name) for e in encodings]
        # If nothing is left of a text, the part that was cut off is longer than the rows, and the library leaves it so.
        longest = max(len(e) for e in encodings)
        if r["padding"] and any(len(o) > longest for e in encodings for o in e.overflowing):
            return "--------"
    except BaseException as e:  # a panic of the library is not an Exception
        if isinstance(e, KeyboardInterrupt):
            raise
        out = None
    return None if out is None else hash_of("/".join(out))


def main():
    strings = []
    with open(os.path.join(OUT, "strings.jsonl")) as f:
        for line in f:
            s = json.loads(line)
            strings.append(s if isinstance(s, str) else bytes.fromhex(s["hex"]).decode("utf-8", "replace"))
    rng = random.Random(35)
    requests = [request(rng, strings) for _ in range(300)]
    out = {"requests": requests, "tokenizers": {}}
    for name, (base, patch) in VARIANTS.items():
        with open(os.path.join(OUT, base + ".json")) as f:
            doc = json.load(f)
        tok = Tokenizer.from_str(json.dumps({**doc, **patch}))
        out["tokenizers"][name] = {
            "base": base,
            "patch": patch,
            "strings": "".join(
                "--------" if name == "t5" and any(map(is_deleted, s)) else hash_of(row(tok.encode(s)))
                for s in strings[::2]
            ),
            "answers": [answer(tok, name, r, strings) for r in requests],
        }
    with open(os.path.join(OUT, "encodings.json"), "w") as f:
        json.dump(out, f, ensure_ascii=False, separators=(",", ":"))


main()
