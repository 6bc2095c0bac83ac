"""Adds to goldens/: Parquet tables of every codec, encoding, page version and type, each beside the JSON of what it
must load as. Needs numpy, ml_dtypes, safetensors (for make_goldens.py) and pyarrow 26.0.1. Run from this folder: python
make_parquet_goldens.py
"""

import datetime
import decimal
import os
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from make_goldens import OUT, expect

RNG = np.random.default_rng(35)
EPOCH = datetime.datetime(1970, 1, 1)


def save(name, table, value, **options):
    pq.write_table(table, os.path.join(OUT, name + ".parquet"), **options)
    expect(name + ".parquet", value)
    path = os.path.join(OUT, name + ".parquet.expected.json")
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("NaN", "null"))  # NaN has no JSON of its own: null stands for it in data


def some_missing(values, every=3):
    return [None if i % every == 1 else v for i, v in enumerate(values)]


def numbers(n):
    """A table of numbers, and what it is here."""
    columns = {
        "i8": RNG.integers(-128, 128, n).astype(np.int8),
        "u8": RNG.integers(0, 256, n).astype(np.uint8),
        "i16": RNG.integers(-(2**15), 2**15, n).astype(np.int16),
        "u16": RNG.integers(0, 2**16, n).astype(np.uint16),
        "i32": RNG.integers(-(2**31), 2**31, n).astype(np.int32),
        "u32": RNG.integers(0, 2**32, n).astype(np.uint32),
        "i64": RNG.integers(-(2**63), 2**63 - 1, n).astype(np.int64),
        "near": (10**15 + np.cumsum(RNG.integers(-9, 9, n))).astype(np.int64),
        "few": RNG.integers(0, 5, n).astype(np.int32),
        "f16": RNG.normal(size=n).astype(np.float16),
        "f32": RNG.normal(size=n).astype(np.float32),
        "f64": RNG.normal(size=n),
        "bool": RNG.integers(0, 2, n).astype(bool),
    }
    return pa.table(columns), columns


def with_missing(n):
    table, columns = numbers(n)
    there = np.arange(n) % 3 != 1
    value = {}
    for name, x in columns.items():
        if name == "bool":
            value[name] = [bool(v) if t else None for v, t in zip(x, there)]
        elif x.dtype.kind == "f":
            value[name] = np.where(there, x, np.nan).astype(x.dtype)
        else:
            value[name] = np.where(there, x.astype(np.float64), np.nan).astype(
                np.float32 if x.dtype.itemsize <= 2 else np.float64
            )
    arrays = {n: pa.array(x, mask=~there) for n, x in columns.items()}
    return pa.table(arrays), value


def texts(n):
    words = ["", "a", "zwölf", "日本語", "a longer text with spaces", "x" * 70]
    return [words[i] for i in RNG.integers(0, len(words), n)]


def make_codecs_and_pages():
    for codec in ("none", "snappy", "gzip", "zstd", "lz4"):
        for version in ("1.0", "2.0"):
            n = 41
            table, value = with_missing(n)
            words = texts(n)
            table = table.append_column("text", pa.array(some_missing(words)))
            value["text"] = some_missing(words)
            save(
                f"{codec}-{version[0]}",
                table,
                value,
                compression=codec,
                data_page_version=version,
                row_group_size=17,
                data_page_size=64,
                write_page_checksum=version == "2.0",
            )


def make_encodings():
    n = 131
    table, value = numbers(n)
    words = sorted(texts(n))
    table = table.append_column("text", pa.array(words))
    value["text"] = words
    save("plain", table, value, use_dictionary=False, compression="none")
    save("dictionary", table, value, compression="snappy", dictionary_pagesize_limit=1 << 20)
    ints = {"i32", "u32", "i64", "near", "few"}
    split = {"f16", "f32", "f64", "i32", "i64"}
    save(
        "deltas",
        table,
        value,
        use_dictionary=False,
        compression="zstd",
        column_encoding={**{c: "DELTA_BINARY_PACKED" for c in ints}, "text": "DELTA_BYTE_ARRAY"},
    )
    save(
        "split",
        table,
        value,
        use_dictionary=False,
        compression="snappy",
        column_encoding={**{c: "BYTE_STREAM_SPLIT" for c in split}, "text": "DELTA_LENGTH_BYTE_ARRAY", "bool": "RLE"},
    )


def seconds(times):
    return [None if t is None else (t - EPOCH).total_seconds() for t in times]


def make_types():
    days = [datetime.date(*d) for d in ((1970, 1, 1), (2024, 2, 29), (1899, 12, 31), (9999, 12, 31))]
    whole = [datetime.datetime(2024, 2, 29, 12, 30), EPOCH, datetime.datetime(1969, 12, 31, 23, 59, 59), EPOCH]
    parts = [t + datetime.timedelta(milliseconds=m) for t, m in zip(whole, (0, 250, 500, 999))]
    money = [decimal.Decimal(s) for s in ("1.23", "-0.01", "99999999.99", "0.00")]
    wide = [decimal.Decimal(s) for s in ("12345678901234567890.123456789", "-1.000000001", "0.1", "7")]
    ids = [uuid.UUID(int=i * 0x1234567890ABCDEF1234567890) for i in range(4)]
    clock = [datetime.time(0, 0, 1), datetime.time(23, 59, 59), datetime.time(12, 0), datetime.time(1, 2, 3)]
    after_midnight = [t.hour * 3600 + t.minute * 60 + t.second for t in clock]
    i64 = lambda x: np.array([int(v) for v in x], np.int64)
    table = pa.table(
        {
            "day": pa.array(days),
            "ms": pa.array(whole, pa.timestamp("ms")),
            "us": pa.array(parts, pa.timestamp("us", tz="UTC")),
            "ns": pa.array(parts, pa.timestamp("ns")),
            "missing": pa.array(some_missing(parts), pa.timestamp("us")),
            "clock": pa.array(clock, pa.time32("ms")),
            "clock-ns": pa.array(clock, pa.time64("ns")),
            "money": pa.array(money, pa.decimal128(10, 2)),
            "wide": pa.array(wide, pa.decimal128(30, 9)),
            "wider": pa.array(wide, pa.decimal256(50, 9)),
            "bytes": pa.array([b"a", b"bc", b"", b"\x00d"]),
            "three": pa.array([b"abc", b"def", b"ghi", b"jkl"], pa.binary(3)),
            "id": pa.array(ids, pa.uuid()),
            "u64": pa.array([0, 1, 2**63, 2**64 - 1], pa.uint64()),
            "u64-small": pa.array([0, 1, 2, 3], pa.uint64()),
            "nothing": pa.nulls(4),
            "all-missing": pa.array([None] * 4, pa.int32()),
            "category": pa.array(["x", "y", "x", None]).dictionary_encode(),
        }
    )
    value = {
        "day": i64((d - EPOCH.date()).days * 86400 for d in days),
        "ms": i64(seconds(whole)),
        "us": np.array(seconds(parts)),
        "ns": np.array(seconds(parts)),
        "missing": np.array([np.nan if t is None else t for t in seconds(some_missing(parts))]),
        "clock": i64(after_midnight),
        "clock-ns": i64(after_midnight),
        "money": np.array([float(m) for m in money]),
        "wide": np.array([float(m) for m in wide]),
        "wider": np.array([float(m) for m in wide]),
        "bytes": ["a", "bc", "", "\x00d"],
        "three": ["abc", "def", "ghi", "jkl"],
        "id": [str(i) for i in ids],
        "u64": np.array([0.0, 1.0, 2.0**63, 2.0**64]),
        "u64-small": i64(range(4)),
        "nothing": [None] * 4,
        "all-missing": np.full(4, np.nan),
        "category": ["x", "y", "x", None],
    }
    save("types", table, value, compression="zstd")
    old = {"ms": value["ms"], "ns": value["ns"]}
    save("int96", table.select(["ms", "ns"]), old, use_deprecated_int96_timestamps=True)
    save("integers-of-decimals", table.select(["money"]), {"money": value["money"]}, store_decimal_as_integer=True)


def make_sizes():
    nothing = pa.table({"a": pa.array([], pa.int32()), "b": pa.array([], pa.string())})
    save("empty", nothing, {"a": np.zeros(0, np.int32), "b": []})
    save("no-columns", pa.table({}), {})
    n = 1000
    runs = np.repeat(np.arange(5), n // 5).astype(np.int32)
    table = pa.table({"runs": runs, "gaps": pa.array(runs, mask=runs == 2)})
    gaps = np.where(runs == 2, np.nan, runs.astype(np.float64))
    save("runs", table, {"runs": runs, "gaps": gaps}, row_group_size=601)
    nested = pa.table({"flat": [1.5, 2.5], "list": [[1], [2, 3]], "struct": [{"x": 1}, {"x": 2}]})
    pq.write_table(nested, os.path.join(OUT, "nested.parquet"))


make_codecs_and_pages()
make_encodings()
make_types()
make_sizes()
