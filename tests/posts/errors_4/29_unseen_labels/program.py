import pandas as pd
import torch
import torch.nn as nn
from sklearn.preprocessing import LabelEncoder

rows = [
    ("oslo", "sunny", 12), ("bergen", "rain", 9), ("oslo", "snow", -3), ("tromso", "snow", -8),
    ("bergen", "rain", 11), ("oslo", "sunny", 18), ("tromso", "sunny", 4), ("bergen", "rain", 7),
    ("oslo", "rain", 6), ("stavanger", "rain", 10),
]
df = pd.DataFrame(rows, columns=["city", "weather", "temp"])
train, test = df.iloc[:8].copy(), df.iloc[8:].copy()

encoders = {}
for col in ("city", "weather"):
    enc = LabelEncoder().fit(train[col])
    train[col] = enc.transform(train[col])
    test[col] = enc.transform(test[col])
    encoders[col] = enc


class TempModel(nn.Module):
    def __init__(self, n_city, n_weather):
        super().__init__()
        self.city, self.weather = nn.Embedding(n_city, 4), nn.Embedding(n_weather, 4)
        self.out = nn.Linear(8, 1)

    def forward(self, c, w):
        return self.out(torch.cat([self.city(c), self.weather(w)], dim=1)).squeeze(1)


torch.manual_seed(0)
model = TempModel(*(len(e.classes_) for e in encoders.values()))
c, w = (torch.tensor(train[k].to_numpy(dtype="int64")) for k in ("city", "weather"))
t = torch.tensor(train["temp"].to_numpy(dtype="float32"))
opt = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(100):
    opt.zero_grad()
    nn.functional.mse_loss(model(c, w), t).backward()
    opt.step()
tc, tw = (torch.tensor(test[k].to_numpy(dtype="int64")) for k in ("city", "weather"))
print(model(tc, tw).tolist(), test["temp"].tolist())
