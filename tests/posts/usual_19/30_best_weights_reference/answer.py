import copy

import torch
import torch.nn as nn


class EarlyStopping:
    def __init__(self, patience=40):
        self.patience = patience
        self.best_loss = float("inf")
        self.best_state = None
        self.best_epoch = -1
        self.counter = 0

    def step(self, val_loss, model, epoch):
        if val_loss < self.best_loss:
            self.best_loss = val_loss
            self.best_state = copy.deepcopy(model.state_dict())
            self.best_epoch = epoch
            self.counter = 0
        else:
            self.counter += 1
        return self.counter >= self.patience


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 20, generator=g)
    y = x[:, :1] - 0.5 * x[:, 1:2] + torch.randn(n, 1, generator=g)
    return x, y


def main():
    torch.manual_seed(0)
    x_train, y_train = make_data(60, seed=1)
    x_val, y_val = make_data(200, seed=2)

    model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_fn = nn.MSELoss()
    stopper = EarlyStopping()

    for epoch in range(300):
        model.train()
        optimizer.zero_grad()
        loss = loss_fn(model(x_train), y_train)
        loss.backward()
        optimizer.step()

        model.eval()
        with torch.no_grad():
            val_loss = loss_fn(model(x_val), y_val).item()
        if stopper.step(val_loss, model, epoch):
            print(f"early stopping at epoch {epoch}")
            break

    model.load_state_dict(stopper.best_state)
    model.eval()
    with torch.no_grad():
        final = loss_fn(model(x_val), y_val).item()
    print(f"best epoch {stopper.best_epoch}, best val loss {stopper.best_loss:.4f}")
    print(f"val loss of the restored model {final:.4f}")


if __name__ == "__main__":
    main()
