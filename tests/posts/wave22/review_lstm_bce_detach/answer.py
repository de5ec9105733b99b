import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(7)
np.random.seed(7)


class ReviewDataset(Dataset):
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return self.x[idx], self.y[idx]


class ReviewClassifier(nn.Module):
    def __init__(self, vocab_size, hidden_dim=32, n_layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_dim, padding_idx=0)
        self.lstm = nn.LSTM(hidden_dim, hidden_dim, num_layers=n_layers, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.fc1 = nn.Linear(hidden_dim, 64)
        self.fc2 = nn.Linear(64, 1)

    def forward(self, x):
        out, _ = self.lstm(self.embedding(x))
        out = self.dropout(out[:, -1])
        out = torch.relu(self.fc1(out))
        return torch.sigmoid(self.fc2(out))


def make_reviews(n, vocab_size, seq_len):
    labels = np.random.randint(0, 2, size=n)
    tokens = np.random.randint(1, vocab_size // 2, size=(n, seq_len))
    tokens[labels == 1, ::3] += vocab_size // 2
    return tokens.astype(np.int64), labels.astype(np.float32)


def train(model, loader, epochs=3):
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        model.train()
        predictions = []
        truth = []
        losses = []
        for x_batch, y_batch in loader:
            y_pred = model(x_batch)
            loss = F.binary_cross_entropy(y_pred, y_batch.unsqueeze(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            predictions.extend(y_pred.detach().reshape(-1).tolist())
            truth.extend(y_batch.tolist())
        hits = sum((p > 0.5) == (t > 0.5) for p, t in zip(predictions, truth))
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, accuracy {hits / len(truth):.3f}")


if __name__ == "__main__":
    vocab_size, seq_len = 200, 20
    x_train, y_train = make_reviews(512, vocab_size, seq_len)
    loader = DataLoader(ReviewDataset(x_train, y_train), batch_size=64, shuffle=True)
    model = ReviewClassifier(vocab_size)
    train(model, loader)
