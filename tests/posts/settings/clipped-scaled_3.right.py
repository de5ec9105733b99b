# line 47: the hand-written limit of the total norm is applied while the gradients are still multiplied by the scale
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def limit_norm(params, largest):
    grads = [p.grad for p in params if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in grads]))
    factor = torch.clamp(largest / (norm + 1e-6), max=1.0)
    for g in grads:
        g.mul_(factor)
    return norm


class Counter(nn.Module):
    """Counts bright spots in a picture."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        return self.conv2(torch.relu(self.conv1(x))).mean(dim=(1, 2, 3)) * 10


def spots(n, side=10):
    number = torch.randint(0, 8, (n,))
    place = torch.rand(n, side * side).argsort(1)
    x = (place.argsort(1) < number[:, None]).float().view(n, 1, side, side)
    return TensorDataset(x + 0.05 * torch.randn_like(x), number.float())


def fit(model, loader, epochs, max_norm=5.0):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, number in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                count = model(x)
            loss = nn.functional.smooth_l1_loss(count.float(), number)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            limit_norm(list(model.parameters()), max_norm)
            scaler.step(optimizer)
            scaler.update()
            total += loss.item() * len(x)
        print(epoch, total / len(loader.dataset))


torch.manual_seed(0)
model = Counter()
fit(model, DataLoader(spots(400), batch_size=25, shuffle=True), epochs=4)
model.eval()
with torch.no_grad():
    x, number = spots(100).tensors
    print("mean error", (model(x) - number).abs().mean().item())
