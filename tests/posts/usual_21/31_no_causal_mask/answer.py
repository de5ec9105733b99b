import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

CORPUS = "the quick brown fox jumps over the lazy dog while the small cat sleeps near the warm fire. " * 30


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, block_size, d_model=64, n_head=4, n_layer=2):
        super().__init__()
        self.block_size = block_size
        self.tok = nn.Embedding(vocab_size, d_model)
        self.pos = nn.Embedding(block_size, d_model)
        layer = nn.TransformerEncoderLayer(
            d_model, n_head, dim_feedforward=128, dropout=0.0, batch_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, n_layer)
        self.ln = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab_size)

    def forward(self, idx):
        T = idx.size(1)
        x = self.tok(idx) + self.pos(torch.arange(T, device=idx.device))
        mask = nn.Transformer.generate_square_subsequent_mask(T, device=idx.device)
        x = self.blocks(x, mask=mask, is_causal=True)
        return self.lm_head(self.ln(x))

    @torch.no_grad()
    def generate(self, idx, n):
        self.eval()
        for _ in range(n):
            logits = self(idx[:, -self.block_size:])[:, -1]
            idx = torch.cat([idx, logits.argmax(dim=-1, keepdim=True)], dim=1)
        return idx


def get_batch(data, block_size, batch_size):
    starts = torch.randint(0, len(data) - block_size - 1, (batch_size,))
    x = torch.stack([data[s:s + block_size] for s in starts])
    y = torch.stack([data[s + 1:s + block_size + 1] for s in starts])
    return x, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--block_size", type=int, default=32)
    parser.add_argument("--batch_size", type=int, default=16)
    args = parser.parse_args()

    torch.manual_seed(0)
    chars = sorted(set(CORPUS))
    stoi = {c: i for i, c in enumerate(chars)}
    data = torch.tensor([stoi[c] for c in CORPUS])
    model = MiniGPT(len(chars), args.block_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    model.train()
    for step in range(args.steps):
        x, y = get_batch(data, args.block_size, args.batch_size)
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, len(chars)), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")

    prompt = torch.tensor([[stoi[c] for c in "the quick "]])
    print("".join(chars[i] for i in model.generate(prompt, 60)[0].tolist()))


if __name__ == "__main__":
    main()
