import torch
import torch.nn as nn
from torch.nn import functional as F

batch_size = 32
block_size = 8
n_embd = 128
max_iters = 600
eval_interval = 200
eval_iters = 20
learning_rate = 1e-2
device = "cuda" if torch.cuda.is_available() else "cpu"

torch.manual_seed(1337)

verse = """
The road goes down beside the mill, the water turns the heavy wheel,
and all the day the wind is still, and all the night the church bells peal.
Who comes along the river bank? Who carries lanterns through the rain?
The miller counts them, rank by rank, and shuts his wooden gate again!
"""
text = verse * 40
chars = sorted(set(text))
vocab_size = len(chars)
stoi = {ch: i for i, ch in enumerate(chars)}
itos = dict(enumerate(chars))


def encode(s):
    return [stoi[c] for c in s]


def decode(ids):
    return "".join(itos[i] for i in ids)


data = torch.tensor(encode(text), dtype=torch.long)
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]


def get_batch(split):
    source = train_data if split == "train" else val_data
    ix = torch.randint(len(source) - block_size, (batch_size,))
    x = torch.stack([source[i:i + block_size] for i in ix])
    y = torch.stack([source[i + 1:i + block_size + 1] for i in ix])
    return x.to(device), y.to(device)


@torch.no_grad()
def estimate_loss(model):
    model.eval()
    out = {}
    for split in ("train", "val"):
        losses = torch.zeros(eval_iters)
        for k in range(eval_iters):
            xb, yb = get_batch(split)
            _, loss = model(xb, yb)
            losses[k] = loss.item()
        out[split] = losses.mean()
    model.train()
    return out


class BigramModel(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.table = nn.Embedding(vocab_size, n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets=None):
        logits = self.lm_head(self.table(idx))
        if targets is None:
            return logits, None
        b, t, c = logits.shape
        loss = F.cross_entropy(logits.view(b * t, c), targets.view(b * t))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits, _ = self(idx)
            probs = F.softmax(logits[:, -1, :], dim=-1)
            nxt = torch.multinomial(probs, num_samples=1)
            idx = torch.cat((idx, nxt), dim=1)
        return idx


model = BigramModel(vocab_size).to(device)
start = torch.zeros((1, 1), dtype=torch.long, device=device)
print("untrained:", decode(model.generate(start, max_new_tokens=100)[0].tolist()))

optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
for it in range(max_iters):
    if it % eval_interval == 0:
        losses = estimate_loss(model)
        print(f"step {it}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    xb, yb = get_batch("train")
    _, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()

print("trained:", decode(model.generate(start, max_new_tokens=300)[0].tolist()))
