from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    epochs: int = 3
    batch_size: int = 16
    max_lr: float = 1e-2
    weight_decay: float = 1e-4


class TextCNN(nn.Module):
    def __init__(self, vocab=120, width=16, classes=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.convs = nn.ModuleList([nn.Conv1d(width, 12, k) for k in (2, 3, 4)])
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(36, classes)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        x = torch.cat([torch.relu(c(x)).amax(dim=2) for c in self.convs], dim=1)
        return self.fc(self.drop(x))


def headlines(n, seed):
    rng = np.random.RandomState(seed)
    topic = rng.randint(0, 4, n)
    tokens = rng.randint(0, 30, (n, 14)) + topic[:, None] * 30 * (rng.rand(n, 14) < 0.5)
    return TensorDataset(torch.from_numpy(tokens).long(), torch.from_numpy(topic).long())


class Runner:
    def __init__(self, config):
        self.config = config
        self.loader = DataLoader(headlines(128, 0), config.batch_size, shuffle=True)
        self.model = TextCNN()
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=config.max_lr, weight_decay=config.weight_decay)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, max_lr=config.max_lr, total_steps=config.epochs)

    def epoch(self):
        self.model.train()
        for tokens, topic in self.loader:
            self.optimizer.zero_grad()
            loss = self.loss(self.model(tokens), topic)
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
        return loss.item()

    def run(self):
        for number in range(self.config.epochs):
            print(f"epoch {number}: loss {self.epoch():.4f}, lr {self.scheduler.get_last_lr()[0]:.6f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    Runner(TrainConfig()).run()
