"""BERT-large for classification, 512 tokens, attention written out.

AdamW takes one parameter after the other, as the Trainer of that time. What torch 1.10
did otherwise than later versions is here: softmax keeps its input for backward, too
(its backward took it until 1.11), and `zero_grad()` keeps the gradients.

Variants: `weights`, `step` (batch 4), `accumulate` (a step after four batches of 1),
`checkpoints` (the same, each layer computes again in backward).
"""

import sys

import torch
from transformers import BertConfig, BertForSequenceClassification

VARIANT = sys.argv[1]


class Softmax(torch.autograd.Function):
    """Softmax over the last dim as autograd had it in torch 1.10."""

    @staticmethod
    def forward(ctx, scores):
        weights = torch.softmax(scores, dim=-1)
        ctx.save_for_backward(scores, weights)
        return weights

    @staticmethod
    def backward(ctx, grad):
        scores, weights = ctx.saved_tensors
        return torch._softmax_backward_data(grad, weights, -1, scores.dtype)


torch.nn.functional.softmax = lambda scores, **options: Softmax.apply(scores)
config = BertConfig(
    hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
    intermediate_size=4096, vocab_size=30522,
    attn_implementation="eager",
)  # fmt: skip
model = BertForSequenceClassification(config).to("cuda")
PARTS, BATCH = (1, 4) if VARIANT == "step" else (4, 1)
if VARIANT == "checkpoints":
    model.gradient_checkpointing_enable({"use_reentrant": True})
if VARIANT != "weights":
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, foreach=False)
    model.train()
    for number in range(3 * PARTS):
        ids = torch.randint(100, 30000, (BATCH, 512)).to("cuda")
        labels = torch.zeros(BATCH, dtype=torch.long).to("cuda")
        loss = model(input_ids=ids, labels=labels).loss / PARTS
        loss.backward()
        if (number + 1) % PARTS == 0:
            optimizer.step()
            model.zero_grad(set_to_none=False)
