import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

PAD, START, END = 0, 1, 2
VOCAB = 14


class Encoder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, dim, 3, stride=2, padding=1), nn.ReLU(),
                                 nn.Conv2d(dim, dim, 3, stride=2, padding=1), nn.ReLU())

    def forward(self, images):
        return self.cnn(images).flatten(2).transpose(1, 2)


class DecoderWithAttention(nn.Module):
    def __init__(self, dim=24, hidden=48):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.cell = nn.LSTMCell(2 * dim, hidden)
        self.query = nn.Linear(hidden, dim)
        self.init_h = nn.Linear(dim, hidden)
        self.init_c = nn.Linear(dim, hidden)
        self.fc = nn.Linear(hidden, VOCAB)

    def forward(self, feats, captions):
        mean = feats.mean(dim=1)
        h, c = self.init_h(mean), self.init_c(mean)
        scores = []
        for t in range(captions.size(1) - 1):
            alpha = F.softmax((feats @ self.query(h).unsqueeze(2)).squeeze(2), dim=1)
            context = (alpha.unsqueeze(2) * feats).sum(dim=1)
            h, c = self.cell(torch.cat([self.embedding(captions[:, t]), context], dim=1), (h, c))
            scores.append(self.fc(h))
        return torch.stack(scores, dim=1)


def dots_and_captions(n, size=16):
    """a bright square somewhere, the caption says row and column"""
    gen = torch.Generator().manual_seed(17)
    pos = torch.randint(0, 4, (n, 2), generator=gen)
    images = 0.3 * torch.randn(n, 1, size, size, generator=gen)
    for i, (r, c) in enumerate(pos.tolist()):
        images[i, 0, 4 * r:4 * r + 4, 4 * c:4 * c + 4] += 2.0
    ones = torch.ones(n, 1, dtype=torch.long)
    return TensorDataset(images, torch.cat([ones * START, pos[:, :1] + 3, pos[:, 1:] + 7, ones * END], dim=1))


def train(loader, encoder, decoder, criterion, optimizer):
    encoder.train()
    decoder.train()
    for images, captions in loader:
        scores = decoder(encoder(images), captions)
        loss = criterion(scores.flatten(0, 1), captions[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def validate(loader, encoder, decoder, criterion):
    encoder.eval()
    decoder.eval()
    total, references, hypotheses = 0.0, [], []
    for images, captions in loader:
        scores = decoder(encoder(images), captions)
        scores_copy = scores.clone()
        loss = criterion(scores.flatten(0, 1), captions[:, 1:].flatten())
        total += loss.item()
        references.extend(captions[:, 1:])
        hypotheses.extend(scores_copy)
    exact = sum(bool((s.argmax(dim=1) == r).all()) for s, r in zip(hypotheses, references))
    return total / len(loader), exact / len(references)


def main():
    torch.manual_seed(0)
    data = dots_and_captions(512)
    trn = DataLoader(torch.utils.data.Subset(data, range(384)), batch_size=32, shuffle=True)
    val = DataLoader(torch.utils.data.Subset(data, range(384, 512)), batch_size=32)
    encoder, decoder = Encoder(), DecoderWithAttention()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
    for epoch in range(5):
        loss = train(trn, encoder, decoder, criterion, optimizer)
        val_loss, exact = validate(val, encoder, decoder, criterion)
        print("epoch %d loss %.3f val %.3f exact %.2f" % (epoch, loss, val_loss, exact))


if __name__ == "__main__":
    main()
