import torch
from torch import nn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=0)


def make_loader(features, labels, shuffle):
    ds = TensorDataset(
        torch.tensor(features, dtype=torch.float32),
        torch.tensor(labels, dtype=torch.float32),
    )
    return DataLoader(ds, batch_size=32, shuffle=shuffle)


train_loader = make_loader(X_tr, y_tr, True)
test_loader = make_loader(X_te, y_te, False)

net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(5):
    net.train()
    epoch_loss = 0.0
    for features, labels in train_loader:
        optimizer.zero_grad()
        outputs = net(features).squeeze(1)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    print(f"epoch {epoch}: {epoch_loss / len(train_loader):.4f}")

net.eval()
hits = 0
with torch.no_grad():
    for features, labels in test_loader:
        predicted = (net(features).squeeze(1) > 0).float()
        hits += (predicted == labels).sum().item()
print("accuracy", hits / len(test_loader.dataset))
