import argparse
import random
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def write_books(folder, n_books=2):
    rng = random.Random(7)
    words = "the whale and the captain sailed over a quiet sea while nobody sang of home".split()
    for k in range(n_books):
        text = " ".join(rng.choice(words) for _ in range(1200))
        (folder / f"book_{k}.txt").write_text(text, encoding="utf-8")


class CharTokenizer:
    def __init__(self):
        self.chars = "abcdefghijklmnopqrstuvwxyz .,\n"

    def encode(self, text):
        return [self.chars.index(c) for c in text if c in self.chars]

    def decode(self, ids):
        return "".join(self.chars[i] for i in ids)


class BookDataset(Dataset):
    def __init__(self, txt, tokenizer, max_length, stride):
        ids = tokenizer.encode(txt)
        self.x, self.y = [], []
        for i in range(0, len(ids) - max_length, stride):
            self.x.append(torch.tensor(ids[i:i + max_length]))
            self.y.append(torch.tensor(ids[i + 1:i + max_length + 1]))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        dim = cfg["emb_dim"]
        self.norm1 = nn.LayerNorm(dim)
        self.att = nn.MultiheadAttention(dim, cfg["n_heads"], dropout=cfg["drop_rate"], batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        mask = torch.triu(torch.ones(cfg["context_length"], cfg["context_length"]), diagonal=1).bool()
        self.register_buffer("mask", mask)

    def forward(self, x):
        t = x.shape[1]
        h = self.norm1(x)
        a, _ = self.att(h, h, h, attn_mask=self.mask[:t, :t], need_weights=False)
        x = x + a
        return x + self.ff(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok_emb = nn.Embedding(cfg["vocab_size"], cfg["emb_dim"])
        self.pos_emb = nn.Embedding(cfg["context_length"], cfg["emb_dim"])
        self.blocks = nn.Sequential(*[Block(cfg) for _ in range(cfg["n_layers"])])
        self.norm = nn.LayerNorm(cfg["emb_dim"])
        self.head = nn.Linear(cfg["emb_dim"], cfg["vocab_size"], bias=False)

    def forward(self, idx):
        pos = torch.arange(idx.shape[1], device=idx.device)
        x = self.tok_emb(idx) + self.pos_emb(pos)
        return self.head(self.norm(self.blocks(x)))


def loss_of_batch(xb, yb, model, device):
    xb, yb = xb.to(device), yb.to(device)
    logits = model(xb)
    return nn.functional.cross_entropy(logits.flatten(0, -1), yb.flatten())


@torch.no_grad()
def evaluate(loader, model, device, n=2):
    model.eval()
    losses = [loss_of_batch(x, y, model, device).item() for _, (x, y) in zip(range(n), loader)]
    model.train()
    return sum(losses) / len(losses)


@torch.no_grad()
def sample(model, tokenizer, start, cfg, device, n=30):
    model.eval()
    ids = torch.tensor([tokenizer.encode(start)], device=device)
    for _ in range(n):
        logits = model(ids[:, -cfg["context_length"]:])
        ids = torch.cat([ids, logits[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    model.train()
    return tokenizer.decode(ids[0].tolist())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_epochs", type=int, default=1)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=5e-4)
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(123)
    tokenizer = CharTokenizer()
    CONFIG = {"vocab_size": len(tokenizer.chars), "context_length": 32, "emb_dim": 48,
              "n_heads": 4, "n_layers": 2, "drop_rate": 0.1}
    model = GPT(CONFIG).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)

    data_dir = Path(tempfile.mkdtemp())
    write_books(data_dir)
    files = sorted(data_dir.glob("*.txt"))
    print("books found:", len(files))
    for epoch in range(args.n_epochs):
        for index, path in enumerate(files, 1):
            print(f"book {index}/{len(files)} ({path.name})")
            text = path.read_text(encoding="utf-8")
            cut = int(0.9 * len(text))
            length = CONFIG["context_length"]
            train_loader = DataLoader(BookDataset(text[:cut], tokenizer, length, length),
                                      batch_size=args.batch_size, shuffle=True, drop_last=True)
            val_loader = DataLoader(BookDataset(text[cut:], tokenizer, length, length),
                                    batch_size=args.batch_size)
            for x, y in train_loader:
                optimizer.zero_grad()
                loss = loss_of_batch(x, y, model, device)
                loss.backward()
                optimizer.step()
            print("train", evaluate(train_loader, model, device), "val", evaluate(val_loader, model, device))
            print(sample(model, tokenizer, "the sea", CONFIG, device))
