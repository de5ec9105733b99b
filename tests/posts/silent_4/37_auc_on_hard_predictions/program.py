import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(37)

raw = torch.randn(3000, 9)
risk = raw[:, 0] + 0.5 * raw[:, 1] * raw[:, 2] + torch.randn(3000)
frame = pd.DataFrame(raw.numpy(), columns=[f"f{i}" for i in range(9)])
frame["default"] = (risk > 1.5).long().numpy()

train_df, test_df = train_test_split(frame, test_size=0.25, stratify=frame["default"], random_state=1)


def to_dataset(df):
    inputs = torch.tensor(df.drop(columns="default").to_numpy())
    return TensorDataset(inputs, torch.tensor(df["default"].to_numpy()).float())


train_loader = DataLoader(to_dataset(train_df), batch_size=64, shuffle=True)
test_loader = DataLoader(to_dataset(test_df), batch_size=256)

model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(10):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()

    model.eval()
    y_true, y_pred = [], []
    with torch.no_grad():
        for x, y in test_loader:
            probs = torch.sigmoid(model(x).squeeze(1))
            y_pred.append((probs > 0.5).float())
            y_true.append(y)
    y_true = torch.cat(y_true).numpy()
    y_pred = torch.cat(y_pred).numpy()
    print(f"epoch {epoch}: test ROC AUC {roc_auc_score(y_true, y_pred):.4f}")
