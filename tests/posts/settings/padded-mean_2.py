# line 34: the set of events of a patient is averaged over the padded length (sum / size(1)), not over the events that exist
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

rng = np.random.default_rng(7)


def fake_patient():
    n = rng.integers(2, 15)
    events = rng.normal(size=(n, 6)).astype("float32")
    risk = float(events[:, 0].mean() > 0)
    return torch.from_numpy(events), risk


def collate(patients):
    events, risk = zip(*patients)
    sizes = torch.tensor([len(e) for e in events])
    x = pad_sequence(events, batch_first=True)
    padding = torch.arange(x.shape[1])[None] >= sizes[:, None]
    return x, padding, torch.tensor(risk)


class EventPooler(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.inp = nn.Linear(6, d)
        self.attn = nn.MultiheadAttention(d, 4, batch_first=True)
        self.ln = nn.LayerNorm(d)
        self.risk = nn.Linear(d, 1)

    def summarize(self, z):
        return torch.sum(z, 1) / z.size(1)

    def forward(self, x, padding):
        z = self.inp(x)
        mixed, _ = self.attn(z, z, z, key_padding_mask=padding, need_weights=False)
        z = self.ln(z + mixed)
        return self.risk(self.summarize(z)).squeeze(-1)


def epoch(model, loader, opt):
    model.train()
    for x, padding, risk in loader:
        loss = nn.functional.binary_cross_entropy_with_logits(model(x, padding), risk)
        opt.zero_grad()
        loss.backward()
        opt.step()


torch.manual_seed(7)
loader = torch.utils.data.DataLoader([fake_patient() for _ in range(200)], 20, shuffle=True, collate_fn=collate)
model = EventPooler()
opt = torch.optim.Adam(model.parameters(), 3e-3)
for _ in range(5):
    epoch(model, loader, opt)
model.eval()
with torch.no_grad():
    x, padding, risk = collate([fake_patient() for _ in range(100)])
    print("auc-ish", ((model(x, padding) > 0).float() == risk).float().mean().item())
