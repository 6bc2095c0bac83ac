"""What each row is to reach: so many times the fastest peer, or 85 % of the floor. And why a row that does neither does
not."""

import re

FLOOR_PCT = 85
RATIOS = [  # the first that fits
    (r"op/attention", 2.2),
    (r"op/gru", 3),
    (r"op/", 2),
    (r"train/makemore-.*-b256", 2),
    (r"train/makemore-", 4),
    (r"train/nanogpt-", 1.4),
    (r"mlp-", 1.25),
    (r"train/gpt2-.*-bf16", 2),
    (r"train/gpt2-", 1.7),
    (r"gen/.*-nocache", 1.6),
    (r"gen/.*-kvcache", 1.3),
    (r"infer/olmo2-1b-(32|117)tok-top5$", 1.8),
    (r"infer/", 2),
]
REASONS = [  # likewise
    (
        r"op/(embedding|layernorm)",
        "A megabyte is written by two threads in some 20 us, of which starting them is a part; norms of rows of 64 wait for their own sums.",
    ),
    (
        r"infer/.*tok-top5-bf16$",
        "Products of 32 rows are at 55 % of what the matrix instructions give: bringing weights into their order is a quarter of the time.",
    ),
    (
        r"op/|train/makemore-transformer|train/makemore-.*-b256|train/nanogpt-|train/gpt2-|gen/.*-nocache|infer/.*tok-top5$",
        "Products are at 80 to 93 % of the processor's peak where they are large and at 48 to 88 % where they are small (`bench_gemm`), PyTorch's own (NVPL BLAS) at 60 to 80 % (op/matmul, mlp): what can be won besides lies between them.",
    ),
    (
        r"train/makemore-",
        "Products at the processor's peak would take 35 to 70 % of our time (of the perceptrons, more than 4x allows); the rest are many kernels of a few microseconds each.",
    ),
    (
        r"gen/.*-kvcache$|infer/.*-decode$",
        "Each token reads all weights once; products of one row are at 85 to 97 % of what memory gives, those of a prompt's four rows at 55 %.",
    ),
    (
        r"gen/.*-kvcache-",
        "Weights of one or two bytes are read at 50 to 95 % of what memory gives; the rest of a token are kernels of a few microseconds each.",
    ),
]


def find(table, work):
    return next((what for pattern, what in table if re.match(pattern, work)), None)


def goal(work):
    return find(RATIOS, work)


def is_met(row):
    wanted = goal(row["work"])
    return wanted is None or row["ratio"] >= wanted or (row.get("floor_pct") or 0) >= FLOOR_PCT


def reason(work):
    return find(REASONS, work)
