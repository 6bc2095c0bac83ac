"""The least time that the arithmetic and the memory traffic of a row take: multiplications at the machine's peak, and
the bytes that must come from memory at its bandwidth."""

ADAMW_BYTES = 28  # of a parameter: it, its gradient and two moments are read, all but the gradient written
GPTS = {  # vocabulary, length, layers, width, batch; whether the optimizer's arrays are too large for the caches
    "train/nanogpt-cpu-b12": (65, 64, 4, 128, 12, False),
    "train/nanogpt-char-b4": (65, 256, 6, 384, 4, True),
    "train/gpt2-124m-b1-t64": (50257, 64, 12, 768, 1, True),
    "train/gpt2-124m-b4-t64": (50257, 64, 12, 768, 4, True),
    "train/makemore-transformer-b32": (27, 16, 4, 64, 32, False),
    "train/makemore-transformer-b256": (27, 16, 4, 64, 256, False),
}
GPT2 = (50257, 12, 768)  # vocabulary, layers, width
WEIGHT_BYTES = {"": 4, "-bf16": 2, "-q8": 1 + 2 / 32, "-q4": 0.5 + 2 / 32}  # quantized: with a 16-bit scale for 32
OLMO_WEIGHTS = 16 * (4 * 2048 * 2048 + 3 * 2048 * 8192) + 100352 * 2048  # of the products


def gpt_weights(vocabulary, layers, width):
    """Of the products; the head is one."""
    return 12 * layers * width * width + vocabulary * width


def gpt_forward(vocabulary, layers, width, length, batch):
    """Floating-point operations, causal attention counted by half."""
    tokens = length * batch
    return 2 * tokens * gpt_weights(vocabulary, layers, width) + 2 * tokens * layers * length * width


def letters(batch, *products):
    """A training step over 16 letters of each example, by products of [rows, columns]."""
    return 3 * 2 * 16 * batch * sum(r * c for r, c in products)


def costs(work):
    """Operations and bytes, or None if neither is the limit."""
    if work in GPTS:
        vocabulary, length, layers, width, batch, streams = GPTS[work]
        return 3 * gpt_forward(vocabulary, layers, width, length, batch), ADAMW_BYTES * gpt_weights(
            vocabulary, layers, width
        ) if streams else 0
    if work == "mlp-1024-b256":
        return 2 * 2 * 256 * 1024 * 1024, 0
    if work.startswith("train/makemore-") and "-b" in work:
        model, batch = work.removeprefix("train/makemore-").split("-b")
        d, head = 64, (64, 27)
        products = {
            "mlp": [(16 * d, d), head],
            "rnn": [(2 * d, d), head],
            "gru": [(2 * d, 3 * d), head],
            "lstm": [(2 * d, 4 * d), head],
            "bow": [(d, d), (d, d), head, (16, d)],
        }
        return letters(int(batch), *products[model]), 0
    if work == "train/makemore-mlp":
        return 3 * 2 * 256 * (192 * 200 + 200 * 27), 0
    if work.startswith("op/"):
        layer, gradient = work.removeprefix("op/").removesuffix("+grad"), work.endswith("+grad")
        rows, d = 256 * 16, 64
        attention = 2 * rows * 4 * d * d + 2 * rows * 16 * d
        forward = {
            "matmul": 2 * rows * d * d,
            "attention": attention,
            "gru-cell": 2 * 256 * 6 * d * d,
            "gru-seq": 2 * rows * 6 * d * d,
            "transformer-block": attention + 2 * rows * 8 * d * d,
        }.get(layer)
        return (forward * (3 if gradient else 1), 0) if forward else None
    if work.startswith("gen/gpt2-124m-100tok-kvcache"):
        return 0, 100 * WEIGHT_BYTES[work.removeprefix("gen/gpt2-124m-100tok-kvcache")] * gpt_weights(*GPT2)
    if work.startswith("infer/olmo2-1b-decode"):
        return 0, 17 * WEIGHT_BYTES[work.removeprefix("infer/olmo2-1b-decode")] * OLMO_WEIGHTS
    if work in (
        "infer/olmo2-1b-32tok-top5",
        "infer/olmo2-1b-117tok-top5",
    ):  # bf16 has another peak where there are instructions for it
        tokens = int(work.removeprefix("infer/olmo2-1b-").removesuffix("tok-top5"))
        return 2 * tokens * OLMO_WEIGHTS, 0
    if work == "gen/gpt2-124m-100tok-nocache":
        vocabulary, layers, width = GPT2
        return sum(gpt_forward(0, layers, width, t, 1) + 2 * vocabulary * width for t in range(8, 108)), 0
    return None


def floor_pct(work, ms, peak):
    """How near `ms` milliseconds are to the limit, given {"gflops", "read_gbs"}; None if the row has no such limit."""
    cost = costs(work)
    return cost and 100 * (cost[0] / peak["gflops"] + cost[1] / peak["read_gbs"]) * 1e-6 / ms
