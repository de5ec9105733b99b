import os
import random
from collections import deque

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

random.seed(0)
torch.manual_seed(0)

MAX_STEPS, EVAL_EVERY, CKPT_EVERY, KEEP = 150, 50, 40, 2
BLOCK, BATCH = 16, 20


def write_text(path, n, seed):
    rnd = random.Random(seed)
    words = ["red", "green", "blue", "cat", "dog", "runs", "sleeps", "under", "over", "the", "a"]
    with open(path, "w") as f:
        for _ in range(n):
            f.write(" ".join(rnd.choice(words) for _ in range(rnd.randint(3, 9))) + "\n")


class TextStream(IterableDataset):
    def __init__(self, path, vocab=None):
        self.path = path
        if vocab is None:
            with open(path) as f:
                vocab = {w: i for i, w in enumerate(sorted(set(f.read().split())))}
        self.vocab = vocab

    def __iter__(self):
        info = get_worker_info()
        assert info is None or info.num_workers == 1
        buffer = []
        with open(self.path) as f:
            for line in f:
                buffer += [self.vocab[w] for w in line.split()]
                while len(buffer) > BLOCK:
                    chunk, buffer = buffer[:BLOCK + 1], buffer[BLOCK:]
                    yield torch.tensor(chunk[:-1]), torch.tensor(chunk[1:])


class TinyLM(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(BLOCK, dim)
        self.block = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(BLOCK))

    def forward(self, idx):
        n = idx.size(1)
        h = self.tok(idx) + self.pos(torch.arange(n))
        return self.head(self.block(h, src_mask=self.mask[:n, :n]))


def loss_of(model, x, y):
    logits = model(x)
    return nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total = count = 0
    for x, y in loader:
        total += loss_of(model, x, y).item() * y.numel()
        count += y.numel()
    model.train()
    return total / count


write_text("train.txt", 350, 0)
write_text("valid.txt", 60, 1)
train_set = TextStream("train.txt")
train_loader = DataLoader(train_set, batch_size=BATCH)
valid_loader = DataLoader(TextStream("valid.txt", train_set.vocab), batch_size=BATCH)
model = TinyLM(len(train_set.vocab))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
window, saved = deque(maxlen=25), []
step, epoch = 0, 0
it = iter(train_loader)
while step < MAX_STEPS:
    try:
        x, y = next(it)
    except StopIteration:
        epoch += 1
        it = iter(train_loader)
        x, y = next(it)
    loss = loss_of(model, x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    window.append(loss.item())
    step += 1
    if step % EVAL_EVERY == 0:
        print(f"step {step} epoch {epoch} train {sum(window) / len(window):.3f} valid {evaluate(model, valid_loader):.3f}")
    if step % CKPT_EVERY == 0:
        path = f"ckpt_{step}.pt"
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path)
        saved.append(path)
        while len(saved) > KEEP:
            os.remove(saved.pop(0))
last = torch.load(saved[-1])
model.load_state_dict(last["model"])
print("kept", saved, "last at", last["step"], "valid", round(evaluate(model, valid_loader), 3))
