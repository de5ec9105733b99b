import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_split(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 20, generator=g)
    y = (x[:, 0] * x[:, 1] + 0.5 * x[:, 2] + 0.5 * torch.randn(n, generator=g) > 0).float()
    return x, y


def evaluate(model, x, y, criterion):
    model.eval()
    with torch.no_grad():
        return criterion(model(x).squeeze(1), y).item()


def train(model, train_loader, val_data, epochs=40, lr=3e-3):
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    best_loss = float("inf")
    best_epoch = -1
    best_state = None

    for epoch in range(epochs):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb).squeeze(1), yb)
            loss.backward()
            optimizer.step()

        val_loss = evaluate(model, *val_data, criterion)
        if val_loss < best_loss:
            best_loss = val_loss
            best_epoch = epoch
            best_state = {k: v.clone() for k, v in model.state_dict().items()}
        if epoch % 10 == 0:
            print(f"epoch {epoch}: val loss {val_loss:.4f}")

    model.load_state_dict(best_state)
    print(f"best epoch {best_epoch} with val loss {best_loss:.4f}")
    return model


torch.manual_seed(0)
x_train, y_train = make_split(300, 0)
x_val, y_val = make_split(300, 1)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
net = nn.Sequential(
    nn.Linear(20, 128), nn.ReLU(),
    nn.Linear(128, 128), nn.ReLU(),
    nn.Linear(128, 1),
)
net = train(net, loader, (x_val, y_val))
final = evaluate(net, x_val, y_val, nn.BCEWithLogitsLoss())
print(f"restored model: val loss {final:.4f}")
