# line 24: background subtraction on uint8 images wraps below zero before abs is taken
import torch
import torch.nn as nn


def camera(n, gen):
    scene = torch.randint(60, 180, (1, 3, 24, 24), generator=gen, dtype=torch.uint8)
    flicker = torch.randint(0, 6, (n, 3, 24, 24), generator=gen, dtype=torch.uint8)
    shots = (scene - 3).expand(n, -1, -1, -1) + flicker
    present = torch.randint(2, (n,), generator=gen)
    shots[present == 1, :, 8:16, 8:16] = 20
    return scene, shots, present.float()


class ForegroundNet(nn.Module):
    def __init__(self, background):
        super().__init__()
        self.register_buffer("background", background)
        self.head = nn.Sequential(
            nn.AvgPool2d(4), nn.Flatten(), nn.Linear(3 * 36, 16), nn.ReLU(), nn.Linear(16, 1)
        )

    def foreground(self, shots):
        change = torch.sub(shots, self.background)
        return change.abs().to(torch.get_default_dtype()) / 255.0

    def forward(self, shots):
        return self.head(self.foreground(shots)).view(-1)


gen = torch.Generator().manual_seed(18)
torch.manual_seed(18)
background, shots, present = camera(100, gen)
detector = ForegroundNet(background)
opt = torch.optim.Adam(detector.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(6):
    for rows in torch.randperm(80).split(20):
        opt.zero_grad()
        bce(detector(shots[rows]), present[rows]).backward()
        opt.step()

detector.eval()
with torch.no_grad():
    alarm = detector(shots[80:]) > 0
print("right:", (alarm == present[80:].bool()).float().mean().item())
