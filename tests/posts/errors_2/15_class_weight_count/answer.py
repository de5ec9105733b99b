import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
NUM_CLASSES = 5
df = pd.DataFrame(rng.normal(size=(600, 6)), columns=[f"f{i}" for i in range(6)])
df["label"] = rng.choice(NUM_CLASSES, size=600, p=[0.6, 0.25, 0.1, 0.045, 0.005])
df.loc[[3, 300, 595, 597, 599], "label"] = 4
df.loc[df.index[:500][df["label"][:500] == 4], "label"] = 0

train, valid = df.iloc[:500], df.iloc[500:]


def tensors(part):
    x = torch.tensor(part.drop(columns="label").values, dtype=torch.float32)
    return x, torch.tensor(part["label"].values)


counts = train["label"].value_counts().reindex(range(NUM_CLASSES), fill_value=0).clip(lower=1)
weights = torch.tensor((counts.sum() / (len(counts) * counts)).values, dtype=torch.float32)
print("class weights:", weights.tolist())

model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, NUM_CLASSES))
criterion = nn.CrossEntropyLoss(weight=weights)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
train_loader = DataLoader(TensorDataset(*tensors(train)), batch_size=50, shuffle=True)

for epoch in range(5):
    model.train()
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        xv, yv = tensors(valid)
        acc = (model(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} valid accuracy {acc:.3f}")
