import torch
from torch import nn
import torch.nn.functional as F

VOCAB, MASK = 50, 49


def mask_tokens(ids, p=0.15):
    inputs, labels = ids.clone(), ids.clone()
    chosen = torch.rand(ids.shape) < p
    labels[~chosen] = -100
    replace = torch.rand(int(chosen.sum())) < 0.9
    inputs[chosen] = torch.where(replace, MASK, inputs[chosen])
    return inputs, labels


class MLM(nn.Module):
    def __init__(self, dim=48, length=20):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, length, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        return self.head(self.encoder(self.tok(ids) + self.pos))


def batch(size):
    start = torch.randint(0, 48, (size, 1))
    stride = torch.randint(1, 4, (size, 1))
    return (start + stride * torch.arange(20)) % 48


model = MLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.train()
for step in range(1, 301):
    inputs, labels = mask_tokens(batch(32))
    loss = F.cross_entropy(model(inputs).transpose(1, 2), labels, ignore_index=-100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step}: mlm loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    ids = batch(200)
    hidden = ids.clone()
    hidden[:, 10] = MASK
    acc = (model(hidden)[:, 10].argmax(-1) == ids[:, 10]).float().mean().item()
print("accuracy at a masked position", acc)
