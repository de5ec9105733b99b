import numpy as np
import torch
from sklearn.model_selection import KFold
from torch import nn

EPOCHS = 60
N_FOLDS = 5


def patients(n, seed):
    """Forty lab values of which three matter; the diagnosis is noisy."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 40)).astype(np.float32)
    signal = 1.2 * x[:, 0] - 1.0 * x[:, 1] + 0.8 * x[:, 2]
    y = (signal + rng.normal(0, 1.5, n) > 0).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy(y)


def build_model():
    return nn.Sequential(
        nn.Linear(40, 64), nn.ReLU(),
        nn.Linear(64, 64), nn.ReLU(),
        nn.Linear(64, 1), nn.Flatten(0),
    )


def train(model, optimizer, x, y, batch_size=32):
    criterion = nn.BCEWithLogitsLoss()
    model.train()
    for _ in range(EPOCHS):
        order = torch.randperm(len(x))
        for start in range(0, len(x), batch_size):
            rows = order[start:start + batch_size]
            optimizer.zero_grad()
            loss = criterion(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return ((model(x) > 0).float() == y).float().mean().item()


def main():
    torch.manual_seed(0)
    x, y = patients(400, seed=1)
    x_new, y_new = patients(1000, seed=2)

    model = build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scores = []
    folds = KFold(n_splits=N_FOLDS, shuffle=True, random_state=0)
    for fold, (train_rows, val_rows) in enumerate(folds.split(x.numpy())):
        train(model, optimizer, x[train_rows], y[train_rows])
        score = evaluate(model, x[val_rows], y[val_rows])
        scores.append(score)
        print(f"fold {fold + 1}: accuracy {score:.3f}")

    print(f"cross validation {np.mean(scores):.3f} +- {np.std(scores):.3f}")
    print(f"new patients     {evaluate(model, x_new, y_new):.3f}")


if __name__ == "__main__":
    main()
