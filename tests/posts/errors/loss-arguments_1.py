# line 60: CTCLoss gets batch-first log probabilities (B, T, C), so the input lengths do not fit the batch; mended by: transposing the log probabilities to (T, B, C)
import torch
import torch.nn as nn

CHARS = "-0123456789"


class CaptchaDataset(torch.utils.data.Dataset):
    def __init__(self, n):
        self.g = torch.Generator().manual_seed(2)
        self.labels = torch.randint(1, len(CHARS), (n, 4), generator=self.g)
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        lab = self.labels[i]
        img = 0.1 * torch.randn(1, 16, 48)
        for j, c in enumerate(lab.tolist()):
            img[0, c, 12 * j:12 * j + 10] += 1.0
        return img, lab


class CRNN(nn.Module):
    def __init__(self, n_chars, hidden=24):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1)),
        )
        self.rnn = nn.LSTM(16 * 4, hidden, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, n_chars)

    def forward(self, img):
        f = self.cnn(img)
        f = f.permute(0, 3, 1, 2).flatten(2)
        out, _ = self.rnn(f)
        return self.fc(out).log_softmax(-1)


def greedy(log_probs):
    texts = []
    for row in log_probs.argmax(-1):
        row = torch.unique_consecutive(row)
        texts.append("".join(CHARS[c] for c in row.tolist() if c != 0))
    return texts


torch.manual_seed(0)
loader = torch.utils.data.DataLoader(CaptchaDataset(48), batch_size=12)
model = CRNN(len(CHARS))
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for img, lab in loader:
        log_probs = model(img)
        steps = torch.full((img.size(0),), log_probs.size(1), dtype=torch.long)
        sizes = torch.full((img.size(0),), lab.size(1), dtype=torch.long)
        loss = ctc(log_probs, lab, steps, sizes)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    print("epoch", epoch, loss.item())
print(greedy(log_probs.detach())[:3])
