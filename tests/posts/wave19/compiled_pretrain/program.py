import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = ("the cat sat on the mat and the dog lay by the door while the rain fell on the old stone road "
        "and the man who sold the bread told the boy that the road to the town was long and wet ") * 30
CHARS = sorted(set(TEXT))
STOI = {c: i for i, c in enumerate(CHARS)}


class Block(nn.Module):
    def __init__(self, dim, heads, context):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self, vocab, dim=64, heads=4, layers=2, context=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(context, dim)
        self.attn_blocks = nn.ModuleList([Block(dim, heads, context) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1), device=idx.device))
        for block in self.attn_blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def get_batch(data, batch_size=16, context=32):
    start = torch.randint(0, len(data) - context - 1, (batch_size,)).tolist()
    x = torch.stack([data[s:s + context] for s in start])
    y = torch.stack([data[s + 1:s + context + 1] for s in start])
    return x, y


def run_steps(model, data, steps, lr, tag):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for step in range(steps):
        x, y = get_batch(data)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 20 == 0 or step == steps - 1:
            print(f"{tag} step {step}: loss {loss.item():.3f}")


def pretrain(args, path):
    data = torch.tensor([STOI[c] for c in TEXT])
    model = CharLM(len(CHARS))
    if args.compile:
        model = torch.compile(model, backend=args.backend)
    run_steps(model, data, args.pretrain_steps, 3e-3, "pretrain")
    torch.save({"model_state_dict": model.state_dict(), "steps": args.pretrain_steps}, path)


def strip_ddp_prefix(state_dict):
    if all(k.startswith("module.") for k in state_dict):
        return {k[len("module."):]: v for k, v in state_dict.items()}
    return state_dict


def load_base_model(path):
    checkpoint = torch.load(path, map_location="cpu")
    model = CharLM(len(CHARS))
    model.load_state_dict(strip_ddp_prefix(checkpoint["model_state_dict"]), strict=False)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pretrain_steps", type=int, default=121)
    parser.add_argument("--sft_steps", type=int, default=41)
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--backend", default="aot_eager")
    args = parser.parse_args()
    torch.manual_seed(0)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pretrained.pt")
        pretrain(args, path)
        model = load_base_model(path)
    answers = "the boy told the man that the cat lay on the road and the dog sat by the old wet door " * 20
    run_steps(model, torch.tensor([STOI[c] for c in answers]), args.sft_steps, 3e-4, "sft")


if __name__ == "__main__":
    main()
