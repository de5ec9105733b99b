import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

ALPHABET = "-ABCDEFGH0123"     # index 0 is blank


class Plates(Dataset):
    def __init__(self, n, seed):
        self.rnd = random.Random(seed)
        glyphs = torch.Generator().manual_seed(3)
        self.glyphs = (torch.rand(len(ALPHABET), 12, 6, generator=glyphs) > 0.5).float()
        self.texts = ["".join(self.rnd.choices(ALPHABET[1:], k=self.rnd.randint(3, 6))) for _ in range(n)]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        idx = [ALPHABET.index(c) for c in self.texts[i]]
        columns = []
        for k in idx:
            columns += [self.glyphs[k], torch.zeros(12, 2)]
        return torch.cat(columns, 1), torch.tensor(idx)


def pad_batch(items):
    widths = torch.tensor([im.shape[1] for im, _ in items])
    images = torch.zeros(len(items), 1, 12, int(widths.max()))
    for k, (im, _) in enumerate(items):
        images[k, 0, :, :im.shape[1]] = im
    targets = torch.cat([t for _, t in items])
    lengths = torch.tensor([len(t) for _, t in items])
    return images, widths, targets, lengths


class CRNN(nn.Module):
    stride = 4

    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.rnn = nn.LSTM(24 * 3, 32, bidirectional=True)
        self.fc = nn.Linear(64, len(ALPHABET))

    def forward(self, x):
        f = self.cnn(x)
        f = f.permute(3, 0, 1, 2).flatten(2)
        return self.fc(self.rnn(f)[0]).log_softmax(2)


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        prev, row[0] = row[0], i
        for j, cb in enumerate(b, 1):
            prev, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, prev + (ca != cb))
    return row[-1]


def decode(log_probs, steps):
    best = log_probs.argmax(2).T
    texts = []
    for path, n in zip(best, steps.tolist()):
        path = torch.unique_consecutive(path[:n])
        texts.append("".join(ALPHABET[k] for k in path.tolist() if k))
    return texts


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Plates(130, 0), batch_size=16, shuffle=True, collate_fn=pad_batch)
    val_loader = DataLoader(Plates(35, 1), batch_size=16, collate_fn=pad_batch)
    model = CRNN()
    ctc = nn.CTCLoss(zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(4):
        model.train()
        total = 0.0
        for images, widths, targets, lengths in train_loader:
            log_probs = model(images)
            steps = torch.div(widths, model.stride, rounding_mode="floor")
            loss = ctc(log_probs, targets, steps, lengths)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5)
            optimizer.step()
            total += loss.item() * len(lengths)
        model.eval()
        errors = characters = 0
        with torch.no_grad():
            for images, widths, targets, lengths in val_loader:
                texts = decode(model(images), widths // model.stride)
                for text, want in zip(texts, targets.split(lengths.tolist())):
                    want = "".join(ALPHABET[k] for k in want.tolist())
                    errors += edit_distance(text, want)
                    characters += len(want)
        print(f"epoch {epoch} loss {total / len(train_loader.dataset):.3f} cer {errors / characters:.3f}")


if __name__ == "__main__":
    main()
