import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--l2", type=float, default=1e-4)
parser.add_argument("--dropout", type=float, default=0.2)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--emotion", default="fear")
parser.add_argument("--class-weight", dest="class_weight", type=int, default=0)
args = parser.parse_args()

RATES = {"happiness": 0.5, "sadness": 0.25, "anger": 0.2, "disgust": 0.16, "fear": 0.08, "surprise": 0.09}
TEXT, AUDIO, VIDEO = 40, 20, 12


class Utterances(Dataset):
    def __init__(self, n_dialogues, emotion, seed):
        rng = np.random.RandomState(seed)
        direction = np.random.RandomState(99).randn(TEXT + AUDIO + VIDEO)
        direction /= np.linalg.norm(direction)
        self.items = []
        for _ in range(n_dialogues):
            n = rng.randint(4, 12)
            y = (rng.rand(n) < RATES[emotion]).astype(np.int64)
            x = rng.randn(n, TEXT + AUDIO + VIDEO) + 1.4 * y[:, None] * direction[None, :]
            self.items.append((x.astype(np.float32), y))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        x, y = self.items[i]
        return torch.from_numpy(x), torch.from_numpy(y)

    def collate(self, batch):
        xs, ys = zip(*batch)
        mask = nn.utils.rnn.pad_sequence([torch.ones(len(y)) for y in ys], batch_first=True)
        return (nn.utils.rnn.pad_sequence(xs, batch_first=True),
                nn.utils.rnn.pad_sequence(ys, batch_first=True), mask)


class MaskedNLL(nn.Module):
    def __init__(self, weight=None):
        super().__init__()
        self.weight = weight
        self.loss = nn.NLLLoss(weight=weight, reduction="none")

    def forward(self, log_prob, target, mask):
        per_utt = self.loss(log_prob.reshape(-1, 2), target.reshape(-1))
        m = mask.reshape(-1)
        norm = m.sum() if self.weight is None else (self.weight[target.reshape(-1)] * m).sum()
        return (per_utt * m).sum() / norm


class FusionNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.text = nn.GRU(TEXT, hidden, batch_first=True)
        self.audio = nn.GRU(AUDIO, hidden, batch_first=True)
        self.video = nn.GRU(VIDEO, hidden, batch_first=True)
        self.drop = nn.Dropout(args.dropout)
        self.head = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, x):
        t, a, v = x.split([TEXT, AUDIO, VIDEO], dim=2)
        h = torch.cat([self.text(t)[0], self.audio(a)[0], self.video(v)[0]], dim=2)
        return self.head(self.drop(h)).log_softmax(dim=2)


def run_epoch(model, loader, loss_fn, optimizer=None):
    model.train(optimizer is not None)
    losses, preds, labels = [], [], []
    with torch.set_grad_enabled(optimizer is not None):
        for x, y, mask in loader:
            log_prob = model(x)
            loss = loss_fn(log_prob, y, mask)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            keep = mask.bool()
            losses.append(loss.item())
            preds.append(log_prob.argmax(2)[keep].numpy())
            labels.append(y[keep].numpy())
    return np.mean(losses), np.concatenate(labels), np.concatenate(preds)


torch.manual_seed(1)
train_set, test_set = Utterances(250, args.emotion, 0), Utterances(80, args.emotion, 1)
train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, collate_fn=train_set.collate)
test_loader = DataLoader(test_set, batch_size=args.batch_size, collate_fn=test_set.collate)

model = FusionNet()
if args.class_weight:
    counts = np.bincount(np.concatenate([y for _, y in train_set.items]), minlength=2)
    loss_fn = MaskedNLL(torch.tensor(counts.sum() / (2.0 * counts), dtype=torch.float32))
else:
    loss_fn = MaskedNLL()
optimizer = optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.l2)

for epoch in range(args.epochs):
    train_loss, _, _ = run_epoch(model, train_loader, loss_fn, optimizer)
    test_loss, labels, preds = run_epoch(model, test_loader, loss_fn)
    print("epoch %d train %.4f test %.4f acc %.3f" % (epoch + 1, train_loss, test_loss, accuracy_score(labels, preds)))
print(args.emotion, "f1 %.3f" % f1_score(labels, preds))
print(confusion_matrix(labels, preds))
