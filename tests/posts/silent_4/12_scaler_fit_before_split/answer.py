import numpy as np
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(12)
X = rng.lognormal(sigma=1.2, size=(500, 15)).astype(np.float32)
y = (np.log(X[:, 0]) - np.log(X[:, 3]) + 0.3 * rng.normal(size=500) > 0).astype(np.float32)

scaler = StandardScaler()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

X_train = torch.tensor(X_train, dtype=torch.float32)
X_test = torch.tensor(X_test, dtype=torch.float32)
y_train = torch.tensor(y_train).unsqueeze(1)
y_test = torch.tensor(y_test).unsqueeze(1)

loader = DataLoader(TensorDataset(X_train, y_train), batch_size=40, shuffle=True)

model = nn.Sequential(nn.Linear(15, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(30):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()

model.eval()
with torch.no_grad():
    logits = model(X_test)
    test_loss = criterion(logits, y_test).item()
    test_acc = ((logits > 0).float() == y_test).float().mean().item()
print(f"test loss {test_loss:.4f} accuracy {test_acc:.3f}")
