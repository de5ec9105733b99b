import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class ReportClassifier(nn.Module):
    def __init__(self, input_features, num_classes, hidden=32):
        super().__init__()
        self.num_tasks = len(num_classes)
        self.fc1 = nn.Linear(input_features, hidden)
        self.drop = nn.Dropout(0.2)
        self.softmaxes = []
        for n in num_classes:
            self.softmaxes.append(nn.Linear(hidden, n))

    def forward(self, batch_in):
        doc_embed = self.drop(F.relu(self.fc1(batch_in)))
        return [head(doc_embed) for head in self.softmaxes]


class Trainer:
    def __init__(self, model, lr, batch_size):
        self.model = model.to(device)
        self.batch_size = batch_size
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, X, ys, epochs):
        n = len(X)
        for epoch in range(epochs):
            self.model.train()
            order = np.random.permutation(n)
            total = 0.0
            for start in range(0, n, self.batch_size):
                idx = order[start:start + self.batch_size]
                batch = torch.from_numpy(X[idx]).to(device)
                logits = self.model(batch)
                loss = 0
                for task, out in enumerate(logits):
                    target = torch.from_numpy(ys[task][idx]).to(device)
                    loss = loss + self.criterion(out, target)
                loss = loss / len(logits)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(idx)
            print(f"epoch {epoch + 1} loss {total / n:.4f}")

    @torch.no_grad()
    def score(self, X, ys):
        self.model.eval()
        logits = self.model(torch.from_numpy(X).to(device))
        return [float((out.argmax(1).cpu().numpy() == y).mean()) for out, y in zip(logits, ys)]


def make_data(samples, input_features, num_classes):
    X = np.random.randn(samples, input_features).astype(np.float32)
    ys = []
    for n in num_classes:
        w = np.random.randn(input_features, n)
        ys.append((X @ w).argmax(1))
    return X, ys


if __name__ == "__main__":
    np.random.seed(0)
    torch.manual_seed(0)
    num_classes = [5, 2, 10, 3]
    X, ys = make_data(6000, 20, num_classes)
    X_train, X_test = X[:5000], X[5000:]
    y_train, y_test = [y[:5000] for y in ys], [y[5000:] for y in ys]

    model = ReportClassifier(20, num_classes)
    trainer = Trainer(model, lr=1e-2, batch_size=64)
    trainer.fit(X_train, y_train, epochs=5)
    for task, acc in enumerate(trainer.score(X_test, y_test)):
        print(f"task {task}: test accuracy {acc:.3f}")
