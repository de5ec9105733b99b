# line 27: resume() restores the weights and the step but not the state of Adam that save() writes
import os
import tempfile
import torch
from torch import nn


class Run:
    def __init__(self, folder):
        torch.manual_seed(0)
        self.path = os.path.join(folder, "ckpt.pth")
        self.net = nn.GRU(3, 16, batch_first=True)
        self.read = nn.Linear(16, 1)
        self.opt = torch.optim.Adam([*self.net.parameters(), *self.read.parameters()], lr=5e-3)
        self.step = 0

    def save(self):
        torch.save({"net": self.net.state_dict(), "read": self.read.state_dict(),
                    "opt": self.opt.state_dict(), "step": self.step}, self.path)

    def resume(self):
        if not os.path.isfile(self.path):
            return self
        saved = torch.load(self.path)
        self.net.load_state_dict(saved["net"])
        self.read.load_state_dict(saved["read"])
        self.step = saved["step"]
        return self

    def batch(self):
        g = torch.Generator().manual_seed(self.step)
        x = torch.randn(32, 12, 3, generator=g)
        return x, x[..., 0].cumsum(1)[:, -1:]

    def train(self, until, every=20):
        while self.step < until:
            x, y = self.batch()
            loss = nn.functional.mse_loss(self.read(self.net(x)[0][:, -1]), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.step += 1
            if self.step % every == 0:
                self.save()
        return loss.item()


with tempfile.TemporaryDirectory() as folder:
    print(Run(folder).train(60))
    print(Run(folder).resume().train(100))
