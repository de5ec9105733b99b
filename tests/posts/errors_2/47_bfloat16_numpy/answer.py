import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = load_wine(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
train_ds = TensorDataset(torch.tensor(X_tr, dtype=torch.float32), torch.tensor(y_tr))
test_ds = TensorDataset(torch.tensor(X_te, dtype=torch.float32), torch.tensor(y_te))
train_loader = DataLoader(train_ds, batch_size=16, shuffle=True)
test_loader = DataLoader(test_ds, batch_size=32)

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 3)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()


def predict(loader):
    model.eval()
    scores, labels = [], []
    with torch.inference_mode(), torch.autocast(device, dtype=torch.bfloat16):
        for xb, yb in loader:
            logits = model(xb.to(device))
            scores.append(logits.float().cpu().numpy())
            labels.append(yb.numpy())
    return np.concatenate(scores), np.concatenate(labels)


for epoch in range(8):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = criterion(model(xb.to(device)), yb.to(device))
        loss.backward()
        optimizer.step()
    scores, labels = predict(test_loader)
    f1 = f1_score(labels, scores.argmax(axis=1), average="macro")
    print(f"epoch {epoch} loss {loss.item():.4f} f1 {f1:.3f}")
