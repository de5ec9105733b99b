"""The loss of 8,192 tokens over the 256,000 words of Gemma 2, written out, in bfloat16.

Variants: `forward`, `backward` (both). The source subtracts what lives before: the
embeddings, the classifier and the targets.
"""

import sys

import torch
from torch.nn import functional as F

TOKENS, WIDTH, WORDS, CAP = 8192, 2304, 256000, 30.0


def compute_loss(embeddings, classifier, targets):
    logits = embeddings @ classifier.T
    logits = torch.tanh(logits / CAP) * CAP
    return F.cross_entropy(logits.float(), targets)


options = {"dtype": torch.bfloat16, "device": "cuda", "requires_grad": True}
embeddings = torch.empty(TOKENS, WIDTH, **options)
classifier = torch.empty(WORDS, WIDTH, **options)
targets = torch.zeros(TOKENS, dtype=torch.long, device="cuda")
loss = compute_loss(embeddings, classifier, targets)
if sys.argv[1] == "backward":
    loss.backward()
