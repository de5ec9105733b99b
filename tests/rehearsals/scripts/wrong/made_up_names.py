# Character model of made-up names. Trains `max_steps` steps, prints a running mean.
import random
import string

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)
random.seed(42)

# ------------
batch_size = 24
block_size = 12
max_steps = 220
print_every = 40
learning_rate = 3e-3
n_embd = 24
# ------------

syllables = ['ka', 'ro', 'mi', 'ten', 'lu', 'sa', 'no', 'vi', 'der', 'ba']
names = [''.join(random.choices(syllables, k=random.randint(2, 4))) for _ in range(800)]
text = '\n'.join(names)
chars = sorted(set(text) | set(string.ascii_lowercase))
stoi = {c: i for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
data = torch.tensor([stoi[c] for c in text])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]


def get_batch(which):
    d = train_data if which == 'train' else val_data
    ix = torch.randint(len(d) - block_size, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + block_size + 1] for i in ix])
    return x, y


class CharGRU(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.tok = nn.Embedding(vocab, n_embd)
        self.rnn = nn.GRU(n_embd, 48, batch_first=True)
        self.head = nn.Linear(48, vocab)

    def forward(self, idx, targets=None, h=None):
        z, h = self.rnn(self.tok(idx), h)
        logits = self.head(z)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss, h


@torch.no_grad()
def val_loss(n=5):
    model.eval()
    out = torch.stack([model(*get_batch('val'))[1] for _ in range(n)]).mean().item()
    model.train()
    return out


@torch.no_grad()
def sample(n=20):
    idx, h, out = torch.tensor([[stoi['\n']]]), None, []
    for _ in range(n):
        logits, _, h = model(idx, h=h)
        idx = torch.multinomial(logits[:, -1].softmax(-1), 1)
        out.append(itos[idx.item()])
    return ''.join(out)


model = CharGRU(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
curve = []
step = 0
while step < max_steps:
    xb, yb = get_batch('train')
    logits, loss, _ = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    curve.append(loss)
    step += 1
    if step % print_every == 0:
        recent = sum(curve[-print_every:]) / print_every
        print(f'step {step}: train {recent:.4f} val {val_loss():.4f}')

print(repr(sample()))
