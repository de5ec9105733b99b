# digits speech recogniser: log-mel frames -> conv front end -> BiGRU -> CTC
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

random.seed(1)
np.random.seed(1)
torch.manual_seed(1)

N_MELS = 40
VOCAB = ["<blank>"] + list("0123456789")
CHAR2ID = {c: i for i, c in enumerate(VOCAB)}
PROTO = np.random.randn(10, N_MELS).astype("float32")


def fake_utterance():
    digits = [random.randint(0, 9) for _ in range(random.randint(3, 7))]
    parts = []
    for d in digits:
        n = random.randint(12, 20)
        parts.append(PROTO[d] + 0.3 * np.random.randn(n, N_MELS).astype("float32"))
        parts.append(0.1 * np.random.randn(4, N_MELS).astype("float32"))
    return np.concatenate(parts), "".join(map(str, digits))


class DigitSpeech(Dataset):
    def __init__(self, n):
        self.items = [fake_utterance() for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        feats, text = self.items[i]
        return torch.from_numpy(feats), torch.tensor([CHAR2ID[c] for c in text])


def collate(batch):
    feats, texts = zip(*batch)
    feat_lens = torch.tensor([f.size(0) for f in feats])
    text_lens = torch.tensor([t.size(0) for t in texts])
    feats = pad_sequence(feats, batch_first=True)
    return feats, feat_lens, torch.cat(texts), text_lens


class Recognizer(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(N_MELS, hidden, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(hidden, hidden, 3, padding=1), nn.ReLU(),
        )
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, len(VOCAB))

    def forward(self, feats):
        x = self.conv(feats.transpose(1, 2)).transpose(1, 2)
        x, _ = self.rnn(x)
        return F.log_softmax(self.fc(x), dim=-1)


def greedy(log_probs, length):
    ids = log_probs[:length].argmax(-1).tolist()
    out, prev = [], 0
    for i in ids:
        if i != prev and i != 0:
            out.append(VOCAB[i])
        prev = i
    return "".join(out)


def run_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for feats, feat_lens, targets, target_lens in loader:
        log_probs = model(feats)
        loss = criterion(log_probs.transpose(0, 1), targets, feat_lens, target_lens)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * feats.size(0)
    return total / len(loader.dataset)


train_loader = DataLoader(DigitSpeech(160), batch_size=16, shuffle=True, collate_fn=collate)
model = Recognizer()
criterion = nn.CTCLoss(blank=0)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(4):
    print(f"epoch {epoch}  ctc {run_epoch(model, train_loader, criterion, optimizer):.3f}")

model.eval()
feats, text = fake_utterance()
with torch.no_grad():
    lp = model(torch.from_numpy(feats)[None])[0]
print("truth", text, "hyp", greedy(lp, lp.size(0)))
