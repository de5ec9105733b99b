import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

LABELS = ["toxic", "insult", "threat", "spam"]
HYPER = dict(dim=32, hidden=48, lr=1e-2, epochs=4, batch=32, loss="bce")

LOSSES = {
    "bce": nn.BCELoss,
    "bce_logits": nn.BCEWithLogitsLoss,
    "mse": nn.MSELoss,
}


class CommentDataset(Dataset):
    def __init__(self, n, vocab_size, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            flags = [int(rng.random() < 0.3) for _ in LABELS]
            words = [rng.randrange(100, vocab_size) for _ in range(rng.randint(6, 20))]
            for k, f in enumerate(flags):
                if f:
                    words += [rng.randrange(k * 20, k * 20 + 20) for _ in range(3)]
            rng.shuffle(words)
            self.rows.append((torch.tensor(words), torch.tensor(flags, dtype=torch.float)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate_bag(batch):
    tokens = torch.cat([w for w, _ in batch])
    lengths = torch.tensor([0] + [len(w) for w, _ in batch[:-1]])
    return tokens, lengths.cumsum(0), torch.stack([f for _, f in batch])


class BagClassifier(nn.Module):
    def __init__(self, vocab_size, dim, hidden, n_labels):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab_size, dim, mode="mean")
        self.mlp = nn.Sequential(
            nn.Linear(dim, hidden),
            nn.LayerNorm(hidden),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(hidden, n_labels),
        )

    def forward(self, tokens, offsets):
        return self.mlp(self.bag(tokens, offsets))


class Moderation:
    def __init__(self, model, hyper):
        self.model = model
        self.criterion = LOSSES[hyper["loss"]]()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=hyper["lr"])

    def train_epoch(self, loader):
        self.model.train()
        running = 0.0
        for tokens, offsets, flags in loader:
            self.optimizer.zero_grad()
            out = self.model(tokens, offsets)
            loss = self.criterion(out, flags)
            loss.backward()
            self.optimizer.step()
            running += loss.item()
        return running / len(loader)

    @torch.no_grad()
    def f1(self, loader):
        self.model.eval()
        tp = fp = fn = torch.zeros(len(LABELS))
        for tokens, offsets, flags in loader:
            guess = (torch.sigmoid(self.model(tokens, offsets)) > 0.5).float()
            tp = tp + (guess * flags).sum(0)
            fp = fp + (guess * (1 - flags)).sum(0)
            fn = fn + ((1 - guess) * flags).sum(0)
        return 2 * tp / (2 * tp + fp + fn).clamp(min=1)


torch.manual_seed(2)
train_loader = DataLoader(CommentDataset(400, 600, 0), HYPER["batch"], shuffle=True, collate_fn=collate_bag)
test_loader = DataLoader(CommentDataset(100, 600, 1), HYPER["batch"], collate_fn=collate_bag)
job = Moderation(BagClassifier(600, HYPER["dim"], HYPER["hidden"], len(LABELS)), HYPER)
for epoch in range(HYPER["epochs"]):
    loss = job.train_epoch(train_loader)
    scores = ", ".join(f"{n} {v:.2f}" for n, v in zip(LABELS, job.f1(test_loader)))
    print(f"{epoch}: loss {loss:.3f}; F1 {scores}")
