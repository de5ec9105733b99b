import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader, random_split

TAGS = ["python", "pytorch", "pandas", "numpy", "opencv", "nlp"]
VOCAB = 500


class QuestionDataset(Dataset):
    """token ids of a question and the list of its tags"""

    def __init__(self, n=300, seq_len=20):
        rng = np.random.default_rng(0)
        self.tokens = rng.integers(1, VOCAB, (n, seq_len))
        self.tags = [list(rng.choice(TAGS, size=rng.integers(1, 4), replace=False)) for _ in range(n)]
        self.tag_to_ix = {t: i for i, t in enumerate(TAGS)}

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, idx):
        target = torch.zeros(len(TAGS), dtype=torch.long)
        for tag in self.tags[idx]:
            target[self.tag_to_ix[tag]] = 1
        return torch.as_tensor(self.tokens[idx]), target


class Tagger(nn.Module):
    def __init__(self, vocab, emb=32, n_tags=len(TAGS)):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb, padding_idx=0)
        self.conv = nn.Conv1d(emb, 64, kernel_size=3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(64, n_tags)

    def forward(self, x):
        h = self.emb(x).transpose(1, 2)
        h = torch.relu(self.conv(h)).max(dim=2).values
        return self.fc(self.drop(h))


def f1_micro(pred, target):
    tp = ((pred == 1) & (target == 1)).sum().item()
    fp = ((pred == 1) & (target == 0)).sum().item()
    fn = ((pred == 0) & (target == 1)).sum().item()
    return 2 * tp / max(2 * tp + fp + fn, 1)


dataset = QuestionDataset()
train_set, val_set = random_split(dataset, [240, 60], generator=torch.Generator().manual_seed(0))
train_loader = DataLoader(train_set, batch_size=30, shuffle=True)
val_loader = DataLoader(val_set, batch_size=60)

model = Tagger(VOCAB)
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.full((len(TAGS),), 2.0))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(3):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()

    model.eval()
    with torch.no_grad():
        x, y = next(iter(val_loader))
        pred = (torch.sigmoid(model(x)) > 0.5).long()
    print(f"epoch {epoch}: loss {loss.item():.4f} micro F1 {f1_micro(pred, y):.3f}")
