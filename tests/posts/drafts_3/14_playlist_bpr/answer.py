import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset

np.random.seed(2)
torch.manual_seed(2)

# ---- plays.csv lookalike ----
n_users, n_songs = 80, 150
taste = np.random.randint(0, 3, n_users)
plays = []
for u in range(1, n_users + 1):
    liked = np.where(np.arange(n_songs) % 3 == taste[u - 1])[0] + 1
    for s in np.random.choice(liked, 20, replace=False):
        plays.append((u, s, np.random.randint(1, 40)))
df = pd.DataFrame(plays, columns=["user_id", "song_id", "play_count"])
df["user"] = df["user_id"] - 1
df["song"] = df["song_id"] - 1

train_df, test_df = train_test_split(df, test_size=0.2, random_state=2)
heard = df.groupby("user")["song"].apply(set).to_dict()
all_songs = np.sort(df["song"].unique())


class PlaysDataset(Dataset):
    """(user, played song, song never played by the user)"""

    def __init__(self, df):
        self.df = df

    def __len__(self):
        return len(self.df)

    def __getitem__(self, idx):
        user = self.df["user"].iloc[idx]
        pos = self.df["song"].iloc[idx]
        neg = np.random.choice(all_songs)
        while neg in heard[user]:
            neg = np.random.choice(all_songs)
        return int(user), int(pos), int(neg)


class BPR(nn.Module):
    def __init__(self, n_users, n_songs, dim=16):
        super().__init__()
        self.users = nn.Embedding(n_users, dim)
        self.songs = nn.Embedding(n_songs, dim)
        nn.init.normal_(self.users.weight, std=0.1)
        nn.init.normal_(self.songs.weight, std=0.1)

    def forward(self, user, song):
        return (self.users(user) * self.songs(song)).sum(dim=1)


train_loader = DataLoader(PlaysDataset(train_df), batch_size=128, shuffle=True)
test_loader = DataLoader(PlaysDataset(test_df), batch_size=256)

model = BPR(n_users, n_songs)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

for epoch in range(8):
    model.train()
    total, seen = 0.0, 0
    for user, pos, neg in train_loader:
        optimizer.zero_grad()
        loss = -F.logsigmoid(model(user, pos) - model(user, neg)).mean()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(user)
        seen += len(user)

    model.eval()
    wins, count = 0, 0
    with torch.no_grad():
        for user, pos, neg in test_loader:
            wins += (model(user, pos) > model(user, neg)).sum().item()
            count += len(user)
    print(f"epoch {epoch + 1}  bpr loss {total / seen:.4f}  test AUC {wins / count:.3f}")
