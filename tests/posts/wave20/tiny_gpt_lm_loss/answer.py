import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

TEXT = (
    "the river runs past the mill and the mill turns the stone. "
    "the stone grinds the corn and the corn becomes the bread. "
    "the bread feeds the miller and the miller minds the river. "
) * 12


class CharDataset(Dataset):
    def __init__(self, text, block):
        self.chars = sorted(set(text))
        self.stoi = {c: i for i, c in enumerate(self.chars)}
        self.ids = torch.tensor([self.stoi[c] for c in text])
        self.block = block

    def __len__(self):
        return len(self.ids) // self.block

    def __getitem__(self, i):
        return self.ids[i * self.block:(i + 1) * self.block]


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class LMHeadModel(nn.Module):
    def __init__(self, vocab, block, dim=48, heads=4, layers=2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(block, dim)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.register_buffer("mask", torch.triu(torch.ones(block, block, dtype=torch.bool), 1))

    def forward(self, input_ids, lm_labels=None):
        t = input_ids.size(1)
        x = self.wte(input_ids) + self.wpe(torch.arange(t))
        for block in self.blocks:
            x = block(x, self.mask[:t, :t])
        lm_logits = self.head(self.ln_f(x))
        if lm_labels is None:
            return lm_logits
        shift_logits = lm_logits[:, :-1].contiguous()
        shift_labels = lm_labels[:, 1:].contiguous()
        return F.cross_entropy(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))


@torch.no_grad()
def complete(model, data, prompt, n=40):
    model.eval()
    ids = torch.tensor([[data.stoi[c] for c in prompt]])
    for _ in range(n):
        logits = model(ids[:, -data.block:])
        ids = torch.cat([ids, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
    return "".join(data.chars[i] for i in ids[0].tolist())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()
    torch.manual_seed(42)
    data = CharDataset(TEXT, args.block)
    loader = DataLoader(data, batch_size=16, shuffle=True)
    model = LMHeadModel(len(data.chars), args.block)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        for batch in loader:
            loss = model(batch, lm_labels=batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1} loss {loss.item():.4f} ppl {math.exp(loss.item()):.3f}")
    print(complete(model, data, "the river "))
