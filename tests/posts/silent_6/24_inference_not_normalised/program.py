import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MEAN, STD = 0.45, 0.20


def snapshots(n, seed):
    """8-bit grey snapshots of a bar that lies, stands or leans."""
    rng = np.random.default_rng(seed)
    imgs = rng.normal(90, 25, (n, 20, 20))
    kind = rng.integers(0, 3, n)
    for img, k in zip(imgs, kind):
        r, c = rng.integers(4, 10, 2)
        for j in range(7):
            if k == 0:
                img[r, c + j] += 90
            elif k == 1:
                img[r + j, c] += 90
            else:
                img[r + j, c + j] += 90
    return imgs.clip(0, 255).astype(np.uint8), kind


def preprocess(imgs):
    x = torch.as_tensor(imgs, dtype=torch.float32).unsqueeze(1) / 255.0
    return (x - MEAN) / STD


def make_net():
    return nn.Sequential(
        nn.Conv2d(1, 12, 3), nn.BatchNorm2d(12), nn.Tanh(),
        nn.Conv2d(12, 24, 3), nn.BatchNorm2d(24), nn.Tanh(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(24, 3),
    )


def train(net, loader, epochs):
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        net.train()
        for x, y in loader:
            opt.zero_grad()
            loss_fn(net(x), y).backward()
            opt.step()


class Predictor:
    """Wraps the trained network for the camera service."""

    names = ("lying", "standing", "leaning")

    def __init__(self, net):
        self.net = net.eval()

    @torch.no_grad()
    def __call__(self, imgs):
        x = torch.as_tensor(imgs, dtype=torch.float32).unsqueeze(1)
        probs = self.net(x).softmax(dim=1)
        best = probs.argmax(dim=1)
        return [(self.names[i], probs[j, i].item()) for j, i in enumerate(best.tolist())]


def main():
    torch.manual_seed(0)
    imgs, kind = snapshots(900, seed=0)
    x, y = preprocess(imgs), torch.as_tensor(kind)
    loader = DataLoader(TensorDataset(x[:700], y[:700]), batch_size=35, shuffle=True)
    net = make_net()
    train(net, loader, epochs=8)
    net.eval()
    with torch.no_grad():
        val_acc = (net(x[700:]).argmax(1) == y[700:]).float().mean().item()
    print(f"validation accuracy {val_acc:.3f}")

    fresh, truth = snapshots(200, seed=1)
    answers = Predictor(net)(fresh)
    hits = np.mean([Predictor.names[t] == a for t, (a, _) in zip(truth, answers)])
    print(f"service accuracy    {hits:.3f}")
    for name in Predictor.names:
        print(f"  {name:9s} answered {sum(a == name for a, _ in answers)} times")


if __name__ == "__main__":
    main()
