import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

VOCAB = 80
SENT_LEN = 12
DOC_LEN = 10
TIMESTEP = 3


class CPC(nn.Module):
    """Predicts the embeddings of the next sentences of a document from its context."""

    def __init__(self, dim=48, timestep=TIMESTEP):
        super().__init__()
        self.timestep = timestep
        self.embedding = nn.Embedding(VOCAB, dim)
        self.encoder = nn.Linear(dim, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.predictors = nn.ModuleList([nn.Linear(dim, dim) for _ in range(timestep)])

    def encode(self, sentences):
        return F.relu(self.encoder(self.embedding(sentences).mean(dim=2)))

    def forward(self, documents):
        z = self.encode(documents)
        start = documents.size(1) - self.timestep
        context, _ = self.gru(z[:, :start])
        context = context[:, -1]
        labels = torch.arange(documents.size(0), device=documents.device)
        losses, accuracies = [], []
        for k, predictor in enumerate(self.predictors):
            scores = predictor(context) @ z[:, start + k].t()
            losses.append(F.cross_entropy(scores, labels))
            accuracies.append((scores.argmax(dim=1) == labels).float().mean())
        return torch.stack(losses), torch.stack(accuracies)


def make_documents(n):
    topics = torch.randint(0, VOCAB, (n, 1, 6))
    pick = torch.randint(0, 6, (n, DOC_LEN, SENT_LEN))
    return topics.expand(n, DOC_LEN, 6).gather(2, pick)


def run_epoch(model, loader, device, optimizer=None):
    model.train(optimizer is not None)
    total_loss = {k: 0.0 for k in range(1, TIMESTEP + 1)}
    total_acc = {k: 0.0 for k in range(1, TIMESTEP + 1)}
    for documents in loader:
        with torch.set_grad_enabled(optimizer is not None):
            loss, acc = model(documents.to(device))
        if optimizer is not None:
            optimizer.zero_grad()
            loss.sum().backward()
            optimizer.step()
        for i, (l, a) in enumerate(zip(loss, acc)):
            total_loss[i + 1] += l.item()
            total_acc[i + 1] += a.item()

    final_loss = sum(total_loss.values()) / len(loader)
    final_acc = sum(total_acc.values()) / len(loader)
    return final_loss, final_acc


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(make_documents(640), batch_size=32, shuffle=True, drop_last=True)
    val_loader = DataLoader(make_documents(128), batch_size=32)
    model = CPC().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    best = 0.0
    for epoch in range(1, 9):
        train_loss, train_acc = run_epoch(model, train_loader, device, optimizer)
        val_loss, val_acc = run_epoch(model, val_loader, device)
        best = max(best, val_acc)
        print(f"epoch {epoch}: train {train_loss:.4f} acc {train_acc:.4f} | val {val_loss:.4f} acc {val_acc:.4f}")
    print(f"best validation accuracy: {best:.4f}")


if __name__ == "__main__":
    main()
