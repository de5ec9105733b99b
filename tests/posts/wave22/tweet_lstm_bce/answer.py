import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset


class TweetDataset(Dataset):
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return self.x[idx], self.y[idx]


class TweetClassifier(nn.Module):
    def __init__(self, vocab_size, embed_dim=32, hidden_dim=32, num_layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.lstm = nn.LSTM(embed_dim, hidden_dim, num_layers=num_layers, batch_first=True)
        self.dropout = nn.Dropout(0.5)
        self.fc1 = nn.Linear(hidden_dim, 64)
        self.fc2 = nn.Linear(64, 1)

    def forward(self, x):
        out = self.embedding(x)
        out, (hidden, cell) = self.lstm(out)
        out = self.dropout(out[:, -1, :])
        out = F.relu(self.fc1(out))
        out = torch.sigmoid(self.fc2(out))
        return out


def load_tweets(n=320, vocab_size=500, max_len=20):
    rng = np.random.default_rng(7)
    x = rng.integers(1, vocab_size, size=(n, max_len))
    y = (x[:, -4:].mean(axis=1) > vocab_size / 2).astype("float32")
    return x.astype("int64"), y


def accuracy(y_true, y_pred):
    hits = [(p > 0.5) == (t > 0.5) for t, p in zip(y_true, y_pred)]
    return sum(hits) / len(hits)


def run(epochs=3, batch_size=64):
    torch.manual_seed(7)
    x, y = load_tweets()
    loader = DataLoader(TweetDataset(x, y), batch_size=batch_size, shuffle=True)
    model = TweetClassifier(vocab_size=500)
    optimizer = optim.RMSprop(model.parameters(), lr=0.01)

    for epoch in range(epochs):
        model.train()
        truth, predictions = [], []
        for x_batch, y_batch in loader:
            x_batch = x_batch.long()
            y_batch = y_batch.float()
            y_batch = y_batch.unsqueeze(1)
            y_pred = model(x_batch)
            loss = F.binary_cross_entropy(y_pred, y_batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            truth += y_batch.flatten().tolist()
            predictions += y_pred.detach().flatten().tolist()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} accuracy {accuracy(truth, predictions):.3f}")


if __name__ == "__main__":
    run()
