# line 15: the EMA dict is made of named_parameters, so the copy that is evaluated has the running statistics of its construction
import torch
from torch import nn


def make_net():
    return nn.Sequential(
        nn.Conv1d(2, 16, 5), nn.BatchNorm1d(16), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 3)
    )


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(p, alpha=1 - self.decay)
        self.shadow.update({name: b.clone() for name, b in model.named_buffers()})

    def export(self):
        smooth = make_net()
        with torch.no_grad():
            for name, p in smooth.named_parameters():
                p.copy_(self.shadow[name])
            for name, b in smooth.named_buffers():
                b.copy_(self.shadow[name])
        return smooth.eval()


def vibrations(n):
    fault = torch.randint(3, (n,))
    t = torch.arange(60).view(1, 1, -1)
    wave = 4 * torch.sin((0.2 + 0.3 * fault).view(-1, 1, 1) * t + 6.28 * torch.rand(n, 2, 1))
    return 6 + wave + torch.randn(n, 2, 60), fault


torch.manual_seed(17)
wave, fault = vibrations(450)
model = make_net()
ema = EMA(model, decay=0.95)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    model.train()
    for rows in torch.randperm(450).split(30):
        opt.zero_grad()
        nn.functional.cross_entropy(model(wave[rows]), fault[rows]).backward()
        opt.step()
        ema.update(model)
wave, fault = vibrations(120)
with torch.no_grad():
    print("accuracy of the average", (ema.export()(wave).argmax(1) == fault).float().mean().item())
