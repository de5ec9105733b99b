import os
import shutil
import torch
import torch.nn as nn

ROOT = "/tmp/sine_experiments"
shutil.rmtree(ROOT, ignore_errors=True)


class Checkpointer:
    """Keeps the best weights of a run."""

    def __init__(self, root, run_name):
        self.path = os.path.join(root, "runs", run_name, "best.pt")
        self.best = float("inf")
        os.makedirs(os.path.dirname(self.path), exist_ok=True)

    def update(self, model, val_loss, epoch):
        if val_loss >= self.best:
            return False
        self.best = val_loss
        torch.save({"epoch": epoch, "val_loss": val_loss, "model": model.state_dict()}, self.path)
        return True


torch.manual_seed(0)
x, xv = torch.rand(128, 1) * 6 - 3, torch.linspace(-3, 3, 50)[:, None]
y, yv = torch.sin(x), torch.sin(xv)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
ckpt = Checkpointer(ROOT, "sine_mlp")

for epoch in range(20):
    opt.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    opt.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(xv), yv).item()
    saved = ckpt.update(model, val, epoch)
print("best", ckpt.best, torch.load(ckpt.path)["epoch"])
