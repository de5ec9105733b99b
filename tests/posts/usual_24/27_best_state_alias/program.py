import argparse

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler


def get_data(seed):
    X, y = make_classification(n_samples=900, n_features=30, n_informative=6, flip_y=0.15,
                               random_state=seed)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=seed)
    X_val, X_test, y_val, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=seed)
    scaler = StandardScaler().fit(X_train)
    parts = [(X_train, y_train), (X_val, y_val), (X_test, y_test)]
    return [
        (torch.tensor(scaler.transform(a), dtype=torch.float32), torch.tensor(b, dtype=torch.float32))
        for a, b in parts
    ]


@torch.no_grad()
def evaluate(model, x, y, criterion):
    model.eval()
    logits = model(x).squeeze(1)
    return criterion(logits, y).item(), roc_auc_score(y.numpy(), logits.numpy())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-epochs", type=int, default=60)
    parser.add_argument("--patience", type=int, default=15)
    parser.add_argument("--lr", type=float, default=3e-3)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    (x_train, y_train), (x_val, y_val), (x_test, y_test) = get_data(args.seed)
    model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    best_loss, best_state, bad_epochs = float("inf"), None, 0
    for epoch in range(args.max_epochs):
        model.train()
        for idx in torch.randperm(len(x_train)).split(32):
            optimizer.zero_grad()
            loss = criterion(model(x_train[idx]).squeeze(1), y_train[idx])
            loss.backward()
            optimizer.step()
        val_loss, val_auc = evaluate(model, x_val, y_val, criterion)
        if val_loss < best_loss:
            best_loss, bad_epochs = val_loss, 0
            best_state = model.state_dict()
        else:
            bad_epochs += 1
            if bad_epochs >= args.patience:
                print(f"early stopping at epoch {epoch}")
                break

    model.load_state_dict(best_state)
    final_loss, _ = evaluate(model, x_val, y_val, criterion)
    test_loss, test_auc = evaluate(model, x_test, y_test, criterion)
    print(f"best val loss {best_loss:.4f}, restored val loss {final_loss:.4f}")
    print(f"test loss {test_loss:.4f}, test auc {test_auc:.3f}")


if __name__ == "__main__":
    main()
