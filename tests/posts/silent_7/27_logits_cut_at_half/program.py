import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import f1_score, precision_score, recall_score
from torch.utils.data import DataLoader, TensorDataset

TAGS = ["billing", "login", "crash", "refund", "feature", "spam"]
VOCAB = 300


def tickets(n, seed):
    rng = np.random.default_rng(seed)
    lexicon = np.random.default_rng(99).dirichlet(np.full(VOCAB, 0.1), size=len(TAGS))
    tags = (rng.random((n, len(TAGS))) < 0.25).astype(np.float32)
    counts = np.zeros((n, VOCAB), dtype=np.float32)
    for i in range(n):
        p = np.full(VOCAB, 1 / VOCAB)
        for k in np.flatnonzero(tags[i]):
            p = p + 0.25 * lexicon[k]
        counts[i] = rng.multinomial(25, p / p.sum())
    return torch.from_numpy(counts), torch.from_numpy(tags)


class TagModel(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(VOCAB, hidden), nn.ReLU(), nn.Dropout(0.4))
        self.classifier = nn.Linear(hidden, len(TAGS))

    def forward(self, counts):
        return self.classifier(self.encoder(torch.log1p(counts)))


@torch.no_grad()
def collect(model, loader, threshold=0.5):
    model.eval()
    preds, golds = [], []
    for counts, tags in loader:
        scores = model(counts)
        preds.append((scores > threshold).int())
        golds.append(tags.int())
    return torch.cat(preds).numpy(), torch.cat(golds).numpy()


def report(preds, golds):
    print(f"{'tag':10s} precision recall  f1")
    for j, tag in enumerate(TAGS):
        p = precision_score(golds[:, j], preds[:, j], zero_division=0)
        r = recall_score(golds[:, j], preds[:, j], zero_division=0)
        print(f"{tag:10s}   {p:.3f}   {r:.3f}  {f1_score(golds[:, j], preds[:, j], zero_division=0):.3f}")


torch.manual_seed(0)
train_loader = DataLoader(TensorDataset(*tickets(1200, 0)), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(*tickets(800, 1)), batch_size=100)

model = TagModel()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(12):
    model.train()
    total = 0.0
    for counts, tags in train_loader:
        loss = criterion(model(counts), tags)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    preds, golds = collect(model, test_loader)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d}  loss {total / len(train_loader):.4f}  "
              f"micro f1 {f1_score(golds, preds, average='micro', zero_division=0):.3f}  "
              f"tags per ticket {preds.sum(1).mean():.2f} (true {golds.sum(1).mean():.2f})")

report(preds, golds)
