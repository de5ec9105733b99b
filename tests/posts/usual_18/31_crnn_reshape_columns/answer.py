"""CRNN for reading short serial numbers: conv columns as time steps, CTC loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

DIGITS = 4
LENGTH = 4
GLYPHS = (torch.rand(DIGITS, 12, 6, generator=torch.Generator().manual_seed(8)) > 0.5).float()


class Serials(Dataset):
    def __init__(self, n, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, DIGITS, (n, LENGTH), generator=self.g)
        self.images = [self.draw(row) for row in self.labels]

    def draw(self, row):
        img = torch.zeros(12, 40)
        x = int(torch.randint(0, 4, (1,), generator=self.g))
        for d in row:
            img[:, x:x + 6] = GLYPHS[d]
            x += 9
        return (img + 0.1 * torch.randn(12, 40, generator=self.g)).unsqueeze(0)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i] + 1


class CRNN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d((2, 2)),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d((2, 1)),
        )
        self.rnn = nn.LSTM(32 * 3, hidden, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, DIGITS + 1)

    def forward(self, img):
        f = self.cnn(img)
        b, c, h, w = f.shape
        seq = f.permute(0, 3, 1, 2).reshape(b, w, c * h)
        out, _ = self.rnn(seq)
        return F.log_softmax(self.fc(out), dim=-1).transpose(0, 1)


def decode(logp):
    texts = []
    for row in logp.argmax(-1).T.tolist():
        kept = [k for i, k in enumerate(row) if k != 0 and (i == 0 or k != row[i - 1])]
        texts.append(kept)
    return texts


def main():
    torch.manual_seed(0)
    model = CRNN()
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    train = DataLoader(Serials(400, 0), batch_size=20, shuffle=True)
    test = DataLoader(Serials(100, 1), batch_size=50)
    for epoch in range(6):
        model.train()
        for img, target in train:
            logp = model(img)
            in_len = torch.full((len(img),), logp.size(0), dtype=torch.long)
            tgt_len = torch.full((len(img),), LENGTH, dtype=torch.long)
            loss = ctc(logp, target, in_len, tgt_len)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for img, target in test:
                right += sum(p == t for p, t in zip(decode(model(img)), target.tolist()))
        print(f"epoch {epoch} ctc {loss.item():.3f} exact {right / 100:.2f}")


if __name__ == "__main__":
    main()
