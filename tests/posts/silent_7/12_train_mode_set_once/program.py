import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

VOCAB, TOPICS, DOC_LEN = 800, 5, 40


def sample_documents(n, seed):
    rng = np.random.default_rng(seed)
    words = np.random.default_rng(42).dirichlet(np.full(VOCAB, 0.2), size=TOPICS)
    common = np.full(VOCAB, 1 / VOCAB)
    topic = rng.integers(0, TOPICS, n)
    docs = np.stack([rng.choice(VOCAB, DOC_LEN, p=0.15 * words[k] + 0.85 * common) for k in topic])
    return TensorDataset(torch.from_numpy(docs), torch.from_numpy(topic))


class TopicModel(nn.Module):
    def __init__(self, dim=96, p=0.6):
        super().__init__()
        self.bag = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.norm = nn.BatchNorm1d(dim)
        self.hidden = nn.Linear(dim, 96)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(96, TOPICS)

    def forward(self, tokens):
        h = self.drop(self.norm(self.bag(tokens)))
        h = self.drop(torch.relu(self.hidden(h)))
        return self.out(h)


class Trainer:
    def __init__(self, model, lr=2e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def evaluate(self, loader):
        self.model.eval()
        loss = hits = count = 0
        with torch.no_grad():
            for tokens, topic in loader:
                logits = self.model(tokens)
                loss += self.criterion(logits, topic).item() * len(topic)
                hits += (logits.argmax(dim=1) == topic).sum().item()
                count += len(topic)
        return loss / count, hits / count

    def fit(self, train_loader, valid_loader, epochs):
        self.model.train()
        for epoch in range(epochs):
            running = 0.0
            for tokens, topic in train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(tokens), topic)
                loss.backward()
                self.optimizer.step()
                running += loss.item()
            valid_loss, valid_acc = self.evaluate(valid_loader)
            print(f"epoch {epoch + 1:2d}  train loss {running / len(train_loader):.3f}  "
                  f"valid loss {valid_loss:.3f}  acc {valid_acc:.3f}")


torch.manual_seed(0)
train_loader = DataLoader(sample_documents(800, seed=0), batch_size=40, shuffle=True)
valid_loader = DataLoader(sample_documents(800, seed=1), batch_size=200)

trainer = Trainer(TopicModel())
trainer.fit(train_loader, valid_loader, epochs=14)
