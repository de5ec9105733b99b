"""Small causal language model on arithmetic strings: does it learn to carry?"""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CHARS = "0123456789+=."
STOI = {c: i for i, c in enumerate(CHARS)}
BLOCK = 12


class Sums(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.lines = []
        for _ in range(n):
            a, b = rnd.randint(10, 99), rnd.randint(10, 99)
            self.lines.append(f"{a}+{b}={str(a + b)[::-1]}".ljust(BLOCK + 1, "."))

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        ids = torch.tensor([STOI[c] for c in self.lines[i]])
        return ids[:-1], ids[1:]


class CausalLM(nn.Module):
    def __init__(self, dim=48, heads=4, depth=2, drop=0.0):
        super().__init__()
        self.tok = nn.Embedding(len(CHARS), dim)
        self.pos = nn.Embedding(BLOCK, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, drop, activation="gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, len(CHARS), bias=False)
        self.register_buffer("causal", torch.triu(torch.ones(BLOCK, BLOCK, dtype=torch.bool), 1))

    def forward(self, ids):
        T = ids.size(1)
        positions = torch.arange(T, device=ids.device).unsqueeze(0)
        h = self.tok(ids) + self.pos(positions)
        h = self.blocks(h, mask=self.causal[:T, :T])
        return self.lm_head(self.norm(h))


@torch.no_grad()
def generate(model, prompt, device):
    model.eval()
    ids = torch.tensor([[STOI[c] for c in prompt]], device=device)
    while ids.size(1) < BLOCK:
        nxt = model(ids)[:, -1].argmax(-1, keepdim=True)
        if CHARS[nxt.item()] == ".":
            break
        ids = torch.cat([ids, nxt], dim=1)
    return "".join(CHARS[i] for i in ids[0].tolist())


def main(steps_per_log=20, epochs=2):
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loader = DataLoader(Sums(2000, 0), batch_size=64, shuffle=True)
    model = CausalLM().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
    step = 0
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            logits = model(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            step += 1
            if step % steps_per_log == 0:
                print(f"step {step} loss {loss.item():.3f}")
    for prompt in ("12+34=", "57+68="):
        print(generate(model, prompt, device))


if __name__ == "__main__":
    main()
