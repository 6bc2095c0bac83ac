"""Prints what PyTorch gives for the inputs of network_parts.cases, by the titles of its cases. Run by hand where torch
is
installed: python3 test/lang/make_network_parts.py"""

import torch
import torch.nn.functional as F

x = torch.tensor
a, b = x([[1.0, 2, 3], [0.5, -1, 2]]), x([[2.0, 0, 1], [1, 1, -1]])
q, p = torch.log_softmax(x([[1.0, 2, 0.5], [0.3, -1, 2]]), -1), torch.log_softmax(x([[0.0, 1, 1], [2, 0, 0]]), -1)
answers = {
    "bce-loss of large logits": F.binary_cross_entropy_with_logits(x([1.5, -2, 100]), x([1, 0, 0.25])),
    "cosine-similarity": F.cosine_similarity(a, b)[1],
    "huber-loss on both sides of delta": F.huber_loss(x([0.0, 1, 5]), x([0.5, 1, 1]), delta=2.0),
    "kl-loss": F.kl_div(q, p, log_target=True, reduction="batchmean"),
    "elu with alpha": F.elu(x(-1.0), alpha=0.5),
    "glu": F.glu(x([[1.0, 2, 3, 4], [0.5, -1, 2, -3]])).sum(),
    "SwiGLU": (x([1.0, 2]) * F.silu(x([3.0, 4]))).sum(),
}
for f in (F.elu, F.mish, F.softplus):
    answers[f.__name__] = f(x(-1.5))
    answers[f.__name__ + " does not overflow"] = f(x(90.0))
for title, value in answers.items():
    print(f"{title}: {float(value)!r}")
