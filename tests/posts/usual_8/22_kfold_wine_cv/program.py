# 5-fold cross validation of an MLP on wine chemistry (178 bottles, 3 growers)
import numpy as np
import torch
from torch import nn

SEED = 0
np.random.seed(SEED)
torch.manual_seed(SEED)

N_PER_CLASS = (59, 71, 48)
N_FEATURES = 13
K = 5
EPOCHS = 40


def load_wine_like():
    centres = np.random.normal(0, 0.35, size=(3, N_FEATURES))
    X = np.concatenate([c + np.random.normal(0, 1, size=(n, N_FEATURES)) for c, n in zip(centres, N_PER_CLASS)])
    X = X * np.random.uniform(0.5, 300, N_FEATURES) + np.random.uniform(0, 50, N_FEATURES)
    y = np.repeat(np.arange(3), N_PER_CLASS)
    return X.astype(np.float32), y


def kfold_indices(n, k, rng):
    order = rng.permutation(n)
    folds = np.array_split(order, k)
    for i in range(k):
        train = np.concatenate([f for j, f in enumerate(folds) if j != i])
        yield train, folds[i]


def standardize(train, *others):
    mu, sd = train.mean(axis=0), train.std(axis=0)
    return [torch.from_numpy((a - mu) / sd) for a in (train, *others)]


def make_mlp():
    return nn.Sequential(
        nn.Linear(N_FEATURES, 64), nn.ReLU(),
        nn.Linear(64, 32), nn.ReLU(),
        nn.Linear(32, 3),
    )


def fit_one_fold(model, optimizer, X, y, batch_size=16):
    loss_fn = nn.CrossEntropyLoss()
    history = []
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(X)).split(batch_size):
            optimizer.zero_grad()
            loss = loss_fn(model(X[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        history.append(total / len(X))
    return history


@torch.no_grad()
def predict(model, X):
    model.eval()
    return model(X).argmax(dim=1).numpy()


def macro_f1(y_true, y_pred):
    scores = []
    for c in range(3):
        tp = np.sum((y_pred == c) & (y_true == c))
        fp = np.sum((y_pred == c) & (y_true != c))
        fn = np.sum((y_pred != c) & (y_true == c))
        scores.append(2 * tp / max(2 * tp + fp + fn, 1))
    return float(np.mean(scores))


X, y = load_wine_like()
rng = np.random.default_rng(SEED)
model = make_mlp()
fold_acc, fold_f1 = [], []

for fold, (tr, va) in enumerate(kfold_indices(len(X), K, rng), start=1):
    X_tr, X_va = standardize(X[tr], X[va])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
    history = fit_one_fold(model, optimizer, X_tr, torch.from_numpy(y[tr]))
    pred = predict(model, X_va)
    fold_acc.append(np.mean(pred == y[va]))
    fold_f1.append(macro_f1(y[va], pred))
    print(f"fold {fold}: loss {history[0]:.3f} -> {history[-1]:.3f}   acc {fold_acc[-1]:.3f}   F1 {fold_f1[-1]:.3f}")

print(f"accuracy {np.mean(fold_acc):.3f} +- {np.std(fold_acc):.3f}")
print(f"macro F1 {np.mean(fold_f1):.3f} +- {np.std(fold_f1):.3f}")
