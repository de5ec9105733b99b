# line 29: the helper steps the own sign-momentum optimizer itself, with gradients that the scaler never divided
import torch
import torch.nn as nn
import torch.nn.functional as F


class NormalizedSGD(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                buf = self.state[p].setdefault("velocity", torch.zeros_like(p))
                buf.mul_(group["momentum"]).add_(p.grad)
                p.sub_(group["lr"] * buf)


def apply_loss(loss, optimizer, scaler):
    optimizer.zero_grad(set_to_none=True)
    if scaler is None:
        loss.backward()
        optimizer.step()
    else:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(12, 12, 3, padding=1)
        self.c3 = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        return self.c3(F.relu(self.c2(F.relu(self.c1(x)))))


def views(n):
    x = torch.rand(n, 3, 12, 12)
    return x, F.avg_pool2d(x.mean(1, keepdim=True), 3, 1, 1)


torch.manual_seed(0)
net = DepthNet()
optimizer = NormalizedSGD(net.parameters(), lr=0.02)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
for it in range(40):
    net.train()
    x, depth = views(8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prediction = net(x)
    loss = F.mse_loss(prediction.float(), depth)
    apply_loss(loss, optimizer, scaler)
    if it % 10 == 0:
        print(it, loss.item())
net.eval()
with torch.no_grad():
    x, depth = views(20)
    print("test", F.mse_loss(net(x), depth).item())
