import os

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class GestureDataset(Dataset):
    def __init__(self, clips=48, frames=16, seed=0):
        rng = np.random.default_rng(seed)
        self.gesture = rng.integers(0, 6, clips)
        time = np.linspace(0, 2 * np.pi, frames)
        phase = np.arange(21)[:, None] / 21
        self.hand = np.sin((self.gesture[:, None, None] + 1) * time + phase).astype(np.float32)

    def __len__(self):
        return len(self.gesture)

    def __getitem__(self, index):
        return torch.from_numpy(self.hand[index].T.copy()), int(self.gesture[index])


class GestureNet(nn.Module):
    def __init__(self, joints=21, hidden=24, gestures=6):
        super().__init__()
        self.proj = nn.Linear(joints, hidden)
        self.attention = nn.MultiheadAttention(hidden, 4, batch_first=True)
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, gestures)

    def forward(self, x):
        x = self.proj(x)
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return self.head(x.mean(dim=1))


class Experiment:
    def __init__(self, out="runs/gesture"):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = GestureNet().to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-3)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.out = out

    def train_epoch(self, loader):
        self.model.train()
        losses = []
        for hand, gesture in loader:
            hand.to(self.device)
            gesture = gesture.to(self.device)
            loss = self.criterion(self.model(hand), gesture)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return np.mean(losses)

    def save(self):
        os.makedirs(self.out, exist_ok=True)
        torch.save(self.model.state_dict(), os.path.join(self.out, "model.pt"))


if __name__ == "__main__":
    torch.manual_seed(0)
    experiment = Experiment()
    loader = DataLoader(GestureDataset(), batch_size=12, shuffle=True)
    for epoch in range(2):
        print(f"epoch {epoch}: {experiment.train_epoch(loader):.4f}")
    experiment.save()
