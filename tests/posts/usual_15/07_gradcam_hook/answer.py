"""Grad-CAM on a small residual network for synthetic chest phantoms."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def phantoms(n, size=48):
    y = torch.randint(0, 2, (n,))
    x = 0.3 * torch.randn(n, 1, size, size)
    centers = torch.randint(10, size - 10, (n, 2))
    grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"), -1).float()
    for i in range(n):
        if y[i] == 1:
            d2 = ((grid - centers[i].float()) ** 2).sum(-1)
            x[i, 0] += 2.0 * torch.exp(-d2 / 18.0)
    return x, y, centers


class ResBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Conv2d(cin, cout, 1, stride, bias=False)
        self.relu = nn.ReLU()

    def forward(self, x):
        h = self.relu(self.bn1(self.conv1(x)))
        h = self.bn2(self.conv2(h))
        return self.relu(h + self.skip(x))


class PhantomNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = ResBlock(1, 16, 2)
        self.layer2 = ResBlock(16, 32, 2)
        self.fc = nn.Linear(32, 2)

    def forward(self, x):
        x = self.layer2(self.layer1(x))
        return self.fc(x.mean(dim=(2, 3)))


class GradCAM:
    def __init__(self, model, target_layer):
        self.model = model
        self.activations = None
        self.gradients = None
        target_layer.register_forward_hook(self._save_activation)
        target_layer.register_full_backward_hook(self._save_gradient)

    def _save_activation(self, module, inputs, output):
        self.activations = output.detach().clone()

    def _save_gradient(self, module, grad_input, grad_output):
        self.gradients = grad_output[0].detach()

    def __call__(self, x, cls):
        self.model.zero_grad()
        score = self.model(x)[:, cls].sum()
        score.backward()
        weights = self.gradients.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((weights * self.activations).sum(1, keepdim=True))
        return F.interpolate(cam, x.shape[-2:], mode="bilinear", align_corners=False)


x, y, _ = phantoms(384)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = PhantomNet()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(6):
    for xb, yb in loader:
        loss = F.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")

model.eval()
xt, yt, ct = phantoms(64)
print("accuracy", (model(xt).argmax(1) == yt).float().mean().item())

explainer = GradCAM(model, model.layer2.bn1)
xp, cp = xt[yt == 1], ct[yt == 1]
heat = explainer(xp, cls=1)
peak = heat.flatten(1).argmax(1)
where = torch.stack([peak // 48, peak % 48], 1)
print("mean distance of the peak to the nodule:", (where - cp).float().norm(dim=1).mean().item())
