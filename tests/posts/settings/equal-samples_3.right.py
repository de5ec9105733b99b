# line 22: the network is in evaluation while one call on the repeated inputs gives the draws of Monte Carlo dropout: all are equal
import torch
from torch import nn


class DoseNet(nn.Module):
    def __init__(self, inputs=7):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(inputs, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


class DropoutEnsemble:
    def __init__(self, model, passes=30):
        self.model, self.passes = model, passes

    def prepare(self):
        self.model.eval()
        for layer in self.model.modules():
            if isinstance(layer, nn.Dropout):
                layer.train()

    @torch.no_grad()
    def predict(self, x):
        self.prepare()
        repeated = x.repeat(self.passes, 1)
        draws = self.model(repeated).unflatten(0, (self.passes, len(x)))
        return draws.mean(dim=0), draws.var(dim=0).sqrt()


torch.manual_seed(51)
patients = torch.randn(500, 7)
dose = patients[:, 0].exp() + patients[:, 1] + 0.2 * torch.randn(500)
model = DoseNet()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(6):
    model.train()
    for rows in torch.randperm(400).split(40):
        opt.zero_grad()
        nn.functional.mse_loss(model(patients[rows]), dose[rows]).backward()
        opt.step()
mean, spread = DropoutEnsemble(model).predict(patients[400:])
covered = ((dose[400:] - mean).abs() < 2 * spread).float().mean()
print(f"mean spread {spread.mean():.4f}, inside two deviations: {covered:.2f}")
