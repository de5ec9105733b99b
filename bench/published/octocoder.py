"""OctoCoder (GPTBigCode, 15.5 billion parameters) generates 60 tokens after 20.

Variants: `bfloat16`, `int8` (the linear layers of the blocks hold int8 and a scale for
each row; the embeddings, tied to the head, stay in bfloat16).
"""

import sys

import torch
from torch import nn
from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM


class Int8Linear(nn.Module):
    def __init__(self, layer):
        super().__init__()
        shape = layer.out_features, layer.in_features
        self.register_buffer("weight", torch.zeros(shape, dtype=torch.int8))
        self.register_buffer("scale", torch.ones(shape[0]))
        self.bias = layer.bias

    def forward(self, x):
        rows = x.flatten(0, -2)
        most = rows.abs().amax(dim=1, keepdim=True)
        whole = (rows / most * 127).round().to(torch.int8)
        y = torch._int_mm(whole, self.weight.t())
        y = (y * (most * self.scale / 127**2)).to(x.dtype) + self.bias
        return y.unflatten(0, x.shape[:-1])


def hold_in_int8(module):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, Int8Linear(child))
        else:
            hold_in_int8(child)


config = GPTBigCodeConfig(
    vocab_size=49152, n_positions=8192, n_embd=6144, n_layer=40, n_head=48,
    multi_query=True,
)  # fmt: skip
with torch.device("meta"):
    model = GPTBigCodeForCausalLM(config).to(torch.bfloat16)
    if sys.argv[1] == "int8":
        hold_in_int8(model.transformer.h)
model.to_empty(device="cuda")
model.tie_weights()
model.eval()
ids = torch.zeros(1, 20, dtype=torch.long, device="cuda")
with torch.no_grad():
    cache = None
    for _ in range(60):
        output = model(input_ids=ids, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        ids = output.logits[:, -1:].argmax(dim=-1)
