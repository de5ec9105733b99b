# line 44: the hits are divided by batches * batch_size, but the last batch is smaller (110 samples in batches of 32)
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

opts = {"batch_size": 32, "lr": 2e-3, "epochs": 3, "classes": 4}


def waves(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(opts["classes"], (n,), generator=g)
    t = torch.linspace(0, 1, 64)
    x = torch.sin(2 * torch.pi * (kind[:, None] + 1) * 2 * t) + 0.5 * torch.randn(n, 64, generator=g)
    return TensorDataset(x.unsqueeze(1), kind)


class WaveNetish(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv1d(1, 8, 9, stride=2), nn.ReLU(), nn.Conv1d(8, 16, 9, stride=2), nn.ReLU())
        self.c = nn.Linear(16, opts["classes"])

    def forward(self, x):
        return self.c(self.f(x).amax(dim=2))


torch.manual_seed(0)
train_dl = DataLoader(waves(256, 0), opts["batch_size"], shuffle=True)
test_dl = DataLoader(waves(110, 1), opts["batch_size"])
net = WaveNetish()
optim = torch.optim.Adam(net.parameters(), lr=opts["lr"])
for epoch in range(opts["epochs"]):
    net.train()
    for x, k in train_dl:
        optim.zero_grad()
        nn.functional.cross_entropy(net(x), k).backward()
        optim.step()
    net.eval()
    hits, batches = 0, 0
    with torch.inference_mode():
        for x, k in test_dl:
            hits += int(torch.eq(net(x).argmax(dim=1), k).sum())
            batches += 1
    acc = 100.0 * hits / (batches * opts["batch_size"])
    print(f"epoch {epoch}: test accuracy {acc:.1f} %")
