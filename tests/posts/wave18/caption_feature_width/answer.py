import argparse

import torch
import torch.nn as nn
import torchvision
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, Dataset


def build_extractor():
    net = torchvision.models.resnet18(weights=None)
    net.avgpool = nn.AvgPool2d(7, stride=1)
    net.fc = nn.Identity()
    net.eval()
    return net


@torch.no_grad()
def extract_features(images, batch_size=8):
    net = build_extractor()
    feats = []
    for start in range(0, len(images), batch_size):
        feats.append(net(images[start:start + batch_size]))
    return torch.cat(feats)


class CaptionData(Dataset):
    def __init__(self, feats, captions):
        self.feats = feats
        self.captions = captions

    def __len__(self):
        return len(self.feats)

    def __getitem__(self, i):
        return self.feats[i], self.captions[i]


def collate(batch):
    batch = sorted(batch, key=lambda b: len(b[1]), reverse=True)
    feats = torch.stack([b[0] for b in batch])
    lengths = [len(b[1]) for b in batch]
    caps = torch.zeros(max(lengths), len(batch), dtype=torch.long)
    for i, (_, c) in enumerate(batch):
        caps[:len(c), i] = c
    return feats, caps, lengths


class Captioner(nn.Module):
    def __init__(self, vocab_size, rnn_hidden=128, embedding_dim=128):
        super().__init__()
        self.fc = nn.Linear(2048, rnn_hidden)
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.rnn = nn.LSTM(embedding_dim, rnn_hidden, num_layers=2)
        self.classifier = nn.Linear(rnn_hidden, vocab_size)

    def forward(self, feats, captions, lengths):
        words = self.embedding(captions)
        image = self.fc(feats).unsqueeze(0)
        inputs = torch.cat([image, words[:-1]], dim=0)
        packed = pack_padded_sequence(inputs, lengths)
        out, _ = self.rnn(packed)
        return self.classifier(out.data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--img-size', type=int, default=256)
    parser.add_argument('--epochs', type=int, default=2)
    parser.add_argument('--lr', type=float, default=1e-3)
    opt = parser.parse_args()
    torch.manual_seed(0)

    vocab_size = 200
    images = torch.rand(24, 3, opt.img_size, opt.img_size)
    captions = [torch.randint(1, vocab_size, (int(torch.randint(5, 12, (1,))),)) for _ in range(24)]

    feats = extract_features(images)
    loader = DataLoader(CaptionData(feats, captions), batch_size=8, shuffle=True, collate_fn=collate)

    model = Captioner(vocab_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(opt.epochs):
        total = 0.0
        for feats, caps, lengths in loader:
            score = model(feats, caps, lengths)
            target = pack_padded_sequence(caps, lengths).data
            loss = criterion(score, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f'epoch {epoch} loss {total / len(loader):.4f}')


if __name__ == '__main__':
    main()
