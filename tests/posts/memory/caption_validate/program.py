import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

VOCAB = 9490
MAX_LEN = 50
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Captions(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.rand(3, 336, 336), torch.randint(0, VOCAB, (MAX_LEN + 1,))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for cin, cout in ((3, 64), (64, 128), (128, 256), (256, 512)):
            layers += [nn.Conv2d(cin, cout, 3, stride=2, padding=1), nn.BatchNorm2d(cout), nn.ReLU()]
        self.net = nn.Sequential(*layers)

    def forward(self, images):
        return self.net(images).flatten(2).transpose(1, 2)


class Decoder(nn.Module):
    def __init__(self, dim=512):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.enc_att = nn.Linear(dim, dim)
        self.dec_att = nn.Linear(dim, dim)
        self.full_att = nn.Linear(dim, 1)
        self.cell = nn.LSTMCell(2 * dim, dim)
        self.fc = nn.Linear(dim, VOCAB)

    def forward(self, features, captions):
        h = c = features.mean(dim=1)
        words = self.embed(captions[:, :-1])
        projected = self.enc_att(features)
        scores = []
        for t in range(MAX_LEN):
            energy = F.relu(projected + self.dec_att(h).unsqueeze(1))
            alpha = self.full_att(energy).softmax(dim=1)
            context = (features * alpha).sum(dim=1)
            h, c = self.cell(torch.cat([words[:, t], context], dim=1), (h, c))
            scores.append(self.fc(h))
        return torch.stack(scores, dim=1)


def train(loader, encoder, decoder, criterion, optimizer):
    for images, captions in loader:
        images, captions = images.to(device), captions.to(device)
        scores = decoder(encoder(images), captions)
        loss = criterion(scores.flatten(0, 1), captions[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate(loader, encoder, decoder, criterion):
    encoder.eval()
    decoder.eval()
    losses = []
    for images, captions in loader:
        images, captions = images.to(device), captions.to(device)
        scores = decoder(encoder(images), captions)
        losses.append(criterion(scores.flatten(0, 1), captions[:, 1:].flatten()).item())
    return sum(losses) / len(losses)


encoder, decoder = Encoder().to(device), Decoder().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=4e-4)
train_loader = DataLoader(Captions(960), batch_size=96, shuffle=True)
val_loader = DataLoader(Captions(480), batch_size=96)
for epoch in range(20):
    encoder.train()
    decoder.train()
    train(train_loader, encoder, decoder, criterion, optimizer)
    print("epoch", epoch, "validation loss", validate(val_loader, encoder, decoder, criterion))
