# line 39: weights saved from a wrapper ("model.…") are loaded by hand for the keys that match: none, since the prefix was never removed
import os
import tempfile
import torch
from torch import nn


class Lit(nn.Module):
    """Training wrapper."""

    def __init__(self, model, lr=1e-2):
        super().__init__()
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, batches):
        self.train()
        for x, y in batches:
            loss = nn.functional.mse_loss(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def save(self, path):
        torch.save(self.state_dict(), path)


class SurrogateNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.mid, self.out = nn.Linear(3, 24), nn.Linear(24, 24), nn.Linear(24, 1)

    def forward(self, p):
        return self.out(torch.tanh(self.mid(torch.tanh(self.inp(p)))))


def restore(net, path):
    saved = torch.load(path, map_location="cpu")
    net.load_state_dict(saved, strict=False)
    return net.eval()


def simulator(n):
    p = torch.rand(n, 3)
    return p, (p[:, :1] * 3).sin() + p[:, 1:2] * p[:, 2:]


torch.manual_seed(0)
path = os.path.join(tempfile.mkdtemp(), "surrogate.pth")
trainer = Lit(SurrogateNet())
trainer.fit(simulator(64) for _ in range(150))
trainer.save(path)
served = restore(SurrogateNet(), path)
with torch.no_grad():
    p, v = simulator(200)
    print("served error", nn.functional.mse_loss(served(p), v).item())
