import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(n, batch_size):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 20, generator=g)
    y = (x[:, :3].sum(dim=1) > 0).long()
    return DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True, drop_last=True)


def train_epoch(model, loader, opt):
    model.train()
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    loader = make_loader(n=100, batch_size=128)
    for epoch in range(5):
        last = train_epoch(model, loader, opt)
        print(f"epoch {epoch}: loss {last:.4f}")


main()
