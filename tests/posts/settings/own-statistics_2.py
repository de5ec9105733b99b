# line 16: min and max of the validation rows are taken from themselves in the dataset class
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(12)
size = 300
frame = pd.DataFrame(torch.rand(size, 4).mul(100).numpy(), columns=["ph", "salt", "iron", "flow"])
frame["drinkable"] = ((frame["ph"] > 40) & (frame["iron"] < 70)).astype(int)


class WaterTable(Dataset):
    def __init__(self, part):
        raw = torch.tensor(part[["ph", "salt", "iron", "flow"]].to_numpy())
        low, high = raw.amin(0), raw.amax(0)
        self.x = (raw - low) / (high - low)
        self.y = torch.tensor(part["drinkable"].to_numpy())

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


shuffled = frame.sample(frac=1.0, random_state=12).reset_index(drop=True)
train_set, valid_set = WaterTable(shuffled[:240]), WaterTable(shuffled[240:])
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.02)
ce = nn.CrossEntropyLoss()
for epoch in range(5):
    net.train()
    for x, y in DataLoader(train_set, batch_size=24, shuffle=True):
        opt.zero_grad()
        ce(net(x), y).backward()
        opt.step()
    net.eval()
    right = 0
    with torch.no_grad():
        for x, y in DataLoader(valid_set, batch_size=30):
            right += (net(x).argmax(1) == y).sum().item()
    print(epoch, right / len(valid_set))
