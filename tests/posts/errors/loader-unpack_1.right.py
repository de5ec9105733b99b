# line 52: the batch, a list of inputs and labels, is handed on as one argument to a method that takes both; mended by: unpacking the batch with a star
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def concentric(n=300):
    r = torch.rand(n) * 3
    a = torch.rand(n) * 6.2832
    pts = torch.stack([r * a.cos(), r * a.sin()], dim=1)
    return TensorDataset(pts, (r.floor()).long())


class RBFNet(nn.Module):
    def __init__(self, centers=24, n_out=3):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(centers, 2) * 1.5)
        self.log_gamma = nn.Parameter(torch.zeros(centers))
        self.out = nn.Linear(centers, n_out)

    def forward(self, x):
        d2 = torch.cdist(x, self.centers).pow(2)
        return self.out(torch.exp(-self.log_gamma.exp() * d2))


class Learner:
    def __init__(self, model, train_dl, valid_dl, lr):
        self.model, self.train_dl, self.valid_dl = model, train_dl, valid_dl
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_func = nn.CrossEntropyLoss()
        self.log = []

    def one_batch(self, xb, yb):
        loss = self.loss_func(self.model(xb), yb)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def validate(self):
        self.model.eval()
        good = 0
        with torch.no_grad():
            for xb, yb in self.valid_dl:
                good += (self.model(xb).argmax(1) == yb).sum().item()
        return good / len(self.valid_dl.dataset)

    def fit(self, epochs, every=4):
        for epoch in range(epochs):
            self.model.train()
            for step, batch in enumerate(self.train_dl):
                loss = self.one_batch(*batch)
                if step % every == 0:
                    self.log.append((epoch, step, loss))
            print(f"epoch {epoch} loss {loss:.3f} valid {self.validate():.3f}")


torch.manual_seed(8)
full = concentric()
tr, va = random_split(full, [240, 60])
learn = Learner(RBFNet(), DataLoader(tr, 40, shuffle=True), DataLoader(va, 60), lr=0.02)
learn.fit(4)
print(len(learn.log), "log rows")
