import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer

torch.manual_seed(0)
X, y = load_breast_cancer(return_X_y=True)
mean, std = X[:400].mean(axis=0), X[:400].std(axis=0)


def build_model():
    return nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 2))


def train(path):
    model = build_model()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    xs = torch.tensor((X[:400] - mean) / std, dtype=torch.float32)
    ys = torch.tensor(y[:400])
    losses = []
    for epoch in range(30):
        opt.zero_grad()
        loss = F.cross_entropy(model(xs), ys)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    torch.save(
        {
            "model": model.state_dict(),
            "mean": torch.from_numpy(mean),
            "std": torch.from_numpy(std),
            "loss": float(np.mean(losses[-5:])),
        },
        path,
    )


def evaluate(path):
    ckpt = torch.load(path, map_location="cpu")
    model = build_model()
    model.load_state_dict(ckpt["model"])
    model.eval()
    xs = torch.tensor((X[400:] - ckpt["mean"].numpy()) / ckpt["std"].numpy(), dtype=torch.float32)
    with torch.no_grad():
        pred = model(xs).argmax(1).numpy()
    print(f"saved loss {ckpt['loss']:.4f} test accuracy {(pred == y[400:]).mean():.3f}")


if __name__ == "__main__":
    train("model.pth")
    evaluate("model.pth")
