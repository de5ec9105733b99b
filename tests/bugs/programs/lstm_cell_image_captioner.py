import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self, feat=32, emb=20, hid=28, vocab=90):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.init_h = nn.Linear(feat, hid)
        self.init_c = nn.Linear(feat, hid)
        self.cell = nn.LSTMCell(emb, hid)
        self.fc = nn.Linear(hid, vocab)

    def init_state(self, regions):
        pooled = regions.flatten(0, 1)
        return self.init_h(pooled), self.init_c(pooled)

    def forward(self, regions, captions):
        h, c = self.init_state(regions)
        emb = self.embed(captions)
        steps = []
        for t in range(captions.size(1)):
            h, c = self.cell(emb[:, t], (h, c))
            steps.append(self.fc(h))
        return torch.stack(steps, dim=1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Conv2d(3, 32, 8, stride=8)
        self.captioner = Captioner()

    def forward(self, images, captions):
        regions = self.cnn(images).flatten(2).transpose(1, 2)
        return self.captioner(regions, captions)


def example_inputs():
    return torch.rand(2, 3, 32, 32), torch.randint(0, 90, (2, 5))
