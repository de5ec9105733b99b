"""ViT-L/16 of torchvision with ten classes, Adam, images of 224 pixels.

Adam is that of the torch which measured, 2.1.0.dev20230623: its lists have two
temporary copies of all parameters, where later versions have one. Variants: `float32`,
`autocast` (float16, with a scaler) and `bfloat16` at batch 64, `batch-16` (bfloat16),
`accumulate` (bfloat16, a step after four batches of 4). Gradients of the last step live
until `zero_grad` after the next forward, as in the source.
"""

import contextlib
import sys

import torch
from torch.nn import functional as F
from torchvision.models import vit_l_16

VARIANT = sys.argv[1]
BATCH = {"batch-16": 16, "accumulate": 4}.get(VARIANT, 64)
PARTS = 4 if VARIANT == "accumulate" else 1
DTYPE = torch.float32 if VARIANT in ("float32", "autocast") else torch.bfloat16

model = vit_l_16()
model.heads.head = torch.nn.Linear(1024, 10)
model.to("cuda", DTYPE)


class Adam(torch.optim.Optimizer):
    """Adam over lists of tensors, as torch had it in June 2023."""

    @torch.no_grad()
    def step(self):
        trained = [p for p in self.param_groups[0]["params"] if p.grad is not None]
        for p in trained:
            if not self.state[p]:
                self.state[p]["mean"] = torch.zeros_like(p)
                self.state[p]["square"] = torch.zeros_like(p)
        gradients = [p.grad for p in trained]
        means = [self.state[p]["mean"] for p in trained]
        squares = [self.state[p]["square"] for p in trained]
        torch._foreach_lerp_(means, gradients, 0.1)
        torch._foreach_mul_(squares, 0.999)
        torch._foreach_addcmul_(squares, gradients, gradients, 0.001)
        roots = torch._foreach_sqrt(squares)
        torch._foreach_div_(roots, 1.0)
        divisors = torch._foreach_add(roots, 1e-8)
        torch._foreach_addcdiv_(trained, means, divisors, -5e-5)


optimizer = Adam(model.parameters(), {"lr": 5e-5})
scaler = torch.amp.GradScaler("cuda") if VARIANT == "autocast" else None


def run_under_autocast():
    if VARIANT != "autocast":
        return contextlib.nullcontext()
    return torch.autocast("cuda", dtype=torch.float16)


model.train()
for number in range(3 * PARTS):
    features = torch.randn(BATCH, 3, 224, 224).to("cuda", DTYPE)
    targets = torch.randint(10, (BATCH,)).to("cuda")
    model.train()
    with run_under_autocast():
        logits = model(features)
    if scaler is not None:
        logits = logits.float()
    loss = F.cross_entropy(logits, targets) / PARTS
    if PARTS == 1:
        optimizer.zero_grad()
    if scaler is None:
        loss.backward()
        if number % PARTS == 0:
            optimizer.step()
            if PARTS > 1:
                optimizer.zero_grad()
    else:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    model.eval()
    with torch.no_grad():
        predicted = torch.argmax(logits, 1)
model.eval()
with torch.no_grad():
    for _ in range(2):
        features = torch.randn(BATCH, 3, 224, 224).to("cuda", DTYPE)
        with run_under_autocast():
            outputs = model(features)
