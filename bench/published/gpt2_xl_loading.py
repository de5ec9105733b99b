"""GPT-2 XL as a book builds it, its weights loaded in three ways.

Variants: `move` (the model alone), `state-dict` (a state dict on the GPU besides it),
`one-by-one` (each parameter copied from the host).
"""

import sys

import torch
from torch import nn

WIDTH, LAYERS, LENGTH, WORDS = 1600, 48, 1024, 50257


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        mask = torch.triu(torch.ones(LENGTH, LENGTH), diagonal=1)
        self.register_buffer("mask", mask)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)


saved = GPT().state_dict()  # on the host
model = GPT()
model.to("cuda")
if sys.argv[1] == "state-dict":
    model.load_state_dict({name: saved[name].to("cuda") for name in saved})
elif sys.argv[1] == "one-by-one":
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(saved[name].to("cuda"))
