import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def stripes(n, size=12):
    """horizontal (0) or vertical (1) stripes, each with a random phase"""
    gen = torch.Generator().manual_seed(1)
    y = torch.randint(0, 2, (n,), generator=gen)
    x = torch.zeros(n, 1, size, size)
    for i in range(n):
        phase = int(torch.randint(0, 4, (1,), generator=gen))
        line = ((torch.arange(size) + phase) // 2 % 2).float()
        x[i, 0] = line[None, :].expand(size, size) if y[i] else line[:, None].expand(size, size)
    return x + 0.5 * torch.randn(x.shape, generator=gen), y.float()


def get_model(size=12):
    after_conv = size - 2
    model = nn.Sequential(
        nn.Conv2d(1, 4, kernel_size=3),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4 * (after_conv // 2) ** 2, 1),
        nn.Sigmoid(),
    )
    loss_fn = nn.BCELoss()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    return model, loss_fn, opt


def train_batch(x, y, model, opt, loss_fn):
    model.train()
    prediction = model(x)
    batch_loss = loss_fn(prediction.squeeze(1), y)
    batch_loss.backward()
    opt.step()
    opt.zero_grad()
    return batch_loss.item()


@torch.no_grad()
def accuracy(loader, model):
    model.eval()
    right = total = 0
    for x, y in loader:
        predicted = (model(x).flatten() > 0.5).float()
        right += (predicted == y).sum().item()
        total += len(y)
    return right / total


def main():
    torch.manual_seed(0)
    x, y = stripes(400)
    trn = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)
    val = DataLoader(TensorDataset(x[320:], y[320:]), batch_size=40)

    model, loss_fn, opt = get_model()
    for epoch in range(6):
        losses = [train_batch(xb, yb, model, opt, loss_fn) for xb, yb in trn]
        print("epoch %d loss %.4f val acc %.3f" % (epoch + 1, sum(losses) / len(losses), accuracy(val, model)))

    weight = model[0].weight.detach()
    print("filters:", weight.shape, "bias:", model[0].bias.detach())


if __name__ == "__main__":
    main()
