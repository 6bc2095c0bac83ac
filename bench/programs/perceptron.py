"""The same step in PyTorch, eager. Prints the milliseconds of one step."""

import time

import torch

torch.set_num_threads(2)
torch.manual_seed(0)
w1 = (0.05 * torch.randn(784, 256)).requires_grad_()
b1 = torch.zeros(256, requires_grad=True)
w2 = (0.05 * torch.randn(256, 10)).requires_grad_()
b2 = torch.zeros(10, requires_grad=True)
optimizer = torch.optim.AdamW([w1, b1, w2, b2], lr=1e-3, weight_decay=0.01)
x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))


def run(n):
    for _ in range(n):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(torch.relu(x @ w1 + b1) @ w2 + b2, y)
        loss.backward()
        optimizer.step()
        loss.item()


run(10)
start = time.perf_counter()
run(100)
print(f"{(time.perf_counter() - start) * 10:.4f}")
