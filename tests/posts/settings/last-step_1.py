# line 19: the last time step of a bidirectional GRU is used as the summary, whose backward half has seen one step
import torch
import torch.nn as nn


class TrajectoryNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Linear(cfg["inputs"], cfg["hidden"])
        self.rnn = nn.GRU(cfg["hidden"], cfg["hidden"], num_layers=2, bidirectional=True)
        self.head = nn.Sequential(
            nn.LayerNorm(2 * cfg["hidden"]), nn.Linear(2 * cfg["hidden"], cfg["outputs"])
        )

    def summarise(self, x):
        steps = self.embed(x).permute(1, 0, 2)
        out, _ = self.rnn(steps)
        return out[-1]

    def forward(self, x):
        return self.head(self.summarise(x))


def synthetic(n, length, gen):
    start = torch.randn(n, 1, 2, generator=gen)
    steps = torch.randn(n, length, 2, generator=gen) * 0.1
    path = start + steps.cumsum(1)
    return path, start[:, 0]


config = {"inputs": 2, "hidden": 16, "outputs": 2}
torch.manual_seed(21)
path, origin = synthetic(160, 25, torch.Generator().manual_seed(21))
model = TrajectoryNet(config)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(path, origin), batch_size=32, shuffle=True
)
for epoch in range(3):
    for batch, target in loader:
        loss = nn.functional.smooth_l1_loss(model(batch), target)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
