import os
import tempfile

import torch
import torch.nn as nn


class SentimentGRU(nn.Module):
    def __init__(self, vocab_size=500, embed_dim=32, hidden=48):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.gru = nn.GRU(embed_dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, tokens):
        _, h = self.gru(self.embedding(tokens))
        return self.fc(h[-1])


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, tokens, labels, epochs=3, batch_size=32):
        self.model.train()
        for epoch in range(epochs):
            perm = torch.randperm(len(tokens))
            total = 0.0
            for i in range(0, len(tokens), batch_size):
                idx = perm[i:i + batch_size]
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(tokens[idx]), labels[idx])
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(idx)
            print(f"epoch {epoch}: loss {total / len(tokens):.4f}")

    def save(self, path):
        torch.save(self.model, path)


def load_for_inference(path):
    model = torch.load(path, map_location="cpu")
    model.eval()
    return model


def main():
    torch.manual_seed(7)
    tokens = torch.randint(1, 500, (256, 20))
    labels = (tokens < 250).float().mean(dim=1).gt(0.5).long()
    trainer = Trainer(SentimentGRU())
    trainer.fit(tokens, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sentiment.pt")
        trainer.save(path)
        model = load_for_inference(path)
    with torch.no_grad():
        print(model(tokens[:5]).softmax(dim=1))


if __name__ == "__main__":
    main()
