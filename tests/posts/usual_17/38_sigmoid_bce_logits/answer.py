import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import f1_score, average_precision_score
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)
TAGS = ['python', 'sql', 'cloud', 'security', 'frontend', 'mobile', 'data', 'devops']


class TicketDataset(Dataset):
    """Bag-of-token-ids tickets with several tags each."""

    def __init__(self, n, vocab=200, length=30):
        self.tokens, self.tags = [], []
        for _ in range(n):
            tags = (np.random.rand(len(TAGS)) < 0.2).astype(np.float32)
            ids = np.random.randint(50, vocab, length)
            slots = np.random.permutation(length)
            for k, t in enumerate(np.flatnonzero(tags)):
                ids[slots[2 * k:2 * k + 2]] = np.random.randint(t * 5, t * 5 + 5, 2)
            self.tokens.append(ids)
            self.tags.append(tags)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return torch.as_tensor(self.tokens[i]), torch.as_tensor(self.tags[i])


class TagClassifier(nn.Module):
    def __init__(self, vocab, n_tags, dim=48, channels=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, channels, 3, padding=1)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(channels, n_tags)

    def forward(self, ids):
        h = torch.relu(self.conv(self.emb(ids).transpose(1, 2)))
        h = self.drop(h.amax(dim=2))
        return self.out(h)


class Runner:
    def __init__(self, model, pos_weight=None, lr=3e-3):
        self.model = model
        self.criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train(self, loader):
        self.model.train()
        losses = []
        for ids, tags in loader:
            probs = self.model(ids)
            loss = self.criterion(probs, tags)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return np.mean(losses)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        probs = torch.cat([torch.sigmoid(self.model(ids)) for ids, _ in loader]).numpy()
        tags = torch.cat([t for _, t in loader]).numpy()
        return (f1_score(tags, probs > 0.5, average='micro', zero_division=0),
                average_precision_score(tags, probs, average='macro'))


def main():
    train_dl = DataLoader(TicketDataset(800), batch_size=40, shuffle=True)
    val_dl = DataLoader(TicketDataset(200), batch_size=50)
    runner = Runner(TagClassifier(200, len(TAGS)))
    for epoch in range(5):
        loss = runner.train(train_dl)
        f1, ap = runner.evaluate(val_dl)
        print(f'epoch {epoch} loss {loss:.4f} micro-f1 {f1:.3f} mAP {ap:.3f}')


if __name__ == '__main__':
    main()
