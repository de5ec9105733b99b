import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

coords = torch.randn(512, 2)
coords[::50] = 0.0
radius = coords.norm(dim=1, keepdim=True)
loader = DataLoader(TensorDataset(coords, radius), batch_size=64)


class DistanceNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.proj = nn.Linear(2, dim, bias=False)
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        z = self.proj(x)
        dist = torch.sqrt((z ** 2).sum(dim=1, keepdim=True) + 1e-12)
        return self.scale * dist


model = DistanceNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.SmoothL1Loss()

for epoch in range(10):
    running = 0.0
    for x, r in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), r)
        loss.backward()
        clip_grad_norm_(model.parameters(), max_norm=1.0, error_if_nonfinite=True)
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: {running / len(loader):.5f}")

with torch.no_grad():
    probe = torch.tensor([[3.0, 4.0], [1.0, 0.0]])
    print("predicted radius:", model(probe).squeeze(1).tolist())
