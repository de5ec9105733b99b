# line 34: validate switches off gradients but leaves the module with its dropout in training mode
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ChordNet(nn.Module):
    def __init__(self, chords=6):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.3, batch_first=True)
        self.lift = nn.Linear(12, 16)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(16, chords)

    def forward(self, chroma):
        return self.head(self.encoder(self.lift(chroma)).mean(1))


class Module:
    def __init__(self):
        self.net = ChordNet()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)
        self.loss = nn.CrossEntropyLoss()

    def training_step(self, batch):
        chroma, chord = batch
        self.opt.zero_grad()
        self.loss(self.net(chroma), chord).backward()
        self.opt.step()

    def validation_step(self, batch):
        chroma, chord = batch
        logits = self.net(chroma)
        return self.loss(logits, chord).item() * len(chord), len(chord)

    def fit(self, train, valid, epochs):
        for epoch in range(epochs):
            self.net.train()
            for batch in train:
                self.training_step(batch)
            previous = torch.is_grad_enabled()
            torch.set_grad_enabled(False)
            sums = np.array([self.validation_step(batch) for batch in valid]).sum(0)
            torch.set_grad_enabled(previous)
            print(epoch, "validation loss", sums[0] / sums[1])


torch.manual_seed(53)
chord = torch.randint(6, (200,))
chroma = torch.rand(200, 10, 12)
chroma[torch.arange(200), :, chord * 2] += 0.7
data = TensorDataset(chroma, chord)
train_set, valid_set = torch.utils.data.random_split(data, [160, 40])
Module().fit(DataLoader(train_set, 20, shuffle=True), DataLoader(valid_set, 20), 3)
