# line 42: model.train() puts the frozen backbone's batch norms into training mode again, so their statistics change
import torch
import torch.nn as nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.n1 = nn.Conv1d(3, 16, 5, padding=2), nn.BatchNorm1d(16)
        self.c2, self.n2 = nn.Conv1d(16, 16, 5, padding=2), nn.BatchNorm1d(16)

    def forward(self, x):
        x = torch.relu(self.n1(self.c1(x)))
        return torch.relu(self.n2(self.c2(x))).mean(-1)


class FineTuner(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(16, classes)
        self.freeze()

    def freeze(self):
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.backbone.eval()

    def forward(self, x):
        return self.head(self.backbone(x))


def gestures(n, k, shift=0.0):
    y = torch.randint(k, (n,))
    t = torch.linspace(0, 6.28, 40)
    f = torch.arange(1, k + 1)[y].view(-1, 1, 1)
    return torch.sin(f * t + torch.rand(n, 3, 1) * 6) + shift + 0.2 * torch.randn(n, 3, 40), y


def fit(net, parameters, batches):
    opt = torch.optim.Adam(parameters, lr=5e-3)
    net.train()
    for x, y in batches:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(0)
base = Backbone()
whole = nn.Sequential(base, nn.Linear(16, 5))
fit(whole, whole.parameters(), (gestures(32, 5) for _ in range(60)))
tuner = FineTuner(base, 3)
print("tuned", fit(tuner, tuner.head.parameters(), (gestures(16, 3, 1.0) for _ in range(40))))
tuner.eval()
with torch.no_grad():
    x, y = gestures(100, 3, 1.0)
    print("accuracy", (tuner(x).argmax(1) == y).float().mean().item())
