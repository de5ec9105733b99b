import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
BACKEND = os.environ.get("COMPILE_BACKEND", "eager")


class Mixer(nn.Module):
    def __init__(self, tokens=9, width=16, classes=4):
        super().__init__()
        self.embed = nn.Linear(3, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, 18), nn.GELU(), nn.Linear(18, tokens))
        self.channels = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.embed(x)
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norm2(x))
        return self.head(x.mean(dim=1))


x = torch.randn(70, 9, 3)
y = (x.sum(dim=(1, 2)) > 0).long() + 2 * (x[:, 0, 0] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)

model = Mixer()
compiled = torch.compile(model, backend=BACKEND)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


@torch.compile(backend=BACKEND)
def smoothed(logits, target):
    return nn.functional.cross_entropy(logits, target, label_smoothing=0.1)


for epoch in range(3):
    for bx, by in loader:
        optimizer.zero_grad()
        loss = smoothed(compiled(bx), by)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

path = os.path.join(tempfile.mkdtemp(), "mixer.pt")
torch.save(model.state_dict(), path)
fresh = Mixer()
fresh.load_state_dict(torch.load(path))
fresh.eval()
with torch.inference_mode():
    print("accuracy", (fresh(x).argmax(1) == y).float().mean().item())
