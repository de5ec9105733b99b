# line 12: the forward hook keeps the output's mean of every training step with its graph
import torch
from torch import nn


class ActivationProbe:
    def __init__(self, layer):
        self.means = []
        self.handle = layer.register_forward_hook(self.record)

    def record(self, layer, args, output):
        self.means.append(output.detach().abs().mean())

    def summary(self):
        values = [m.item() for m in self.means]
        return sum(values) / len(values)


class PixelCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 12, 3, padding=1)
        self.body = nn.Conv2d(12, 12, 3, padding=1)
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        x = torch.relu(self.body(torch.relu(self.stem(x))))
        return self.head(x.mean(dim=(2, 3))).flatten()


torch.manual_seed(6)
images = torch.rand(200, 1, 14, 14)
sharpness = images.std(dim=(1, 2, 3))
net = PixelCritic()
probe = ActivationProbe(net.body)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, sharpness), 20, shuffle=True)
for epoch in range(3):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} mse {total / len(loader):.4f}")
print("mean activation of the body:", probe.summary())
probe.handle.remove()
