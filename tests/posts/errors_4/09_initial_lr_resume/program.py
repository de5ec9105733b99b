import io
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(0)
X = torch.randn(200, 8)
Y = X.sum(dim=1, keepdim=True) + 0.1 * torch.randn(200, 1)


def build():
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return model, opt


def train(model, opt, sched, start, stop):
    for epoch in range(start, stop):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(X), Y)
        loss.backward()
        opt.step()
        sched.step()
    print(f"epoch {epoch} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.4f}")


model, opt = build()
sched = CosineAnnealingLR(opt, T_max=20)
train(model, opt, sched, 0, 8)
buf = io.BytesIO()
torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": 8}, buf)

buf.seek(0)
ckpt = torch.load(buf)
model, opt = build()
model.load_state_dict(ckpt["model"])
sched = CosineAnnealingLR(opt, T_max=20, last_epoch=ckpt["epoch"] - 1)
opt.load_state_dict(ckpt["opt"])
train(model, opt, sched, ckpt["epoch"], 20)
