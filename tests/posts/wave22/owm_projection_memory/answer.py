import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MLP(nn.Module):
    def __init__(self, in_dim=100, hidden=120, classes=10):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, hidden, bias=False)
        self.fc2 = nn.Linear(hidden, hidden, bias=False)
        self.fc3 = nn.Linear(hidden, classes, bias=False)

    def forward(self, x):
        h_list = [x.mean(0, keepdim=True)]
        x = torch.relu(self.fc1(x))
        h_list.append(x.mean(0, keepdim=True))
        x = torch.relu(self.fc2(x))
        h_list.append(x.mean(0, keepdim=True))
        return self.fc3(x), h_list


class OWMTrainer:
    def __init__(self, model, device, lr=0.1):
        self.model = model
        self.device = device
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.P = {
            name: torch.eye(w.size(1), device=device) for name, w in model.named_parameters()
        }

    def project(self, name, w, h, alpha):
        p = self.P[name]
        k = torch.mm(p, h.t())
        p.sub_(torch.mm(k, k.t()) / (alpha + torch.mm(h, k)))
        w.grad.copy_(torch.mm(w.grad, p.t()))

    def train_epoch(self, loader, epoch, epochs):
        self.model.train()
        total = 0.0
        for i, (x, y) in enumerate(loader):
            x, y = x.to(self.device), y.to(self.device)
            output, h_list = self.model(x)
            loss = self.criterion(output, y)
            self.optimizer.zero_grad()
            loss.backward()
            lamda = i / len(loader) / epochs + epoch / epochs
            with torch.no_grad():
                for (name, w), h in zip(self.model.named_parameters(), h_list):
                    self.project(name, w, h, alpha=0.9 * 0.001 ** lamda)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = n = 0
        for x, y in loader:
            output, _ = self.model(x.to(self.device))
            hits += (output.argmax(1).cpu() == y).sum().item()
            n += y.numel()
        return hits / n


def make_task(seed, n=1280, in_dim=100, classes=10):
    g = torch.Generator().manual_seed(seed)
    centers = torch.randn(classes, in_dim, generator=g)
    y = torch.randint(0, classes, (n,), generator=g)
    x = centers[y] + torch.randn(n, in_dim, generator=g)
    return TensorDataset(x, y)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trainer = OWMTrainer(MLP().to(device), device)
    epochs = 5
    for task in range(3):
        loader = DataLoader(make_task(task), batch_size=32, shuffle=True)
        for epoch in range(epochs):
            loss = trainer.train_epoch(loader, epoch, epochs)
        line = f"task {task} loss {loss:.4f} acc {trainer.evaluate(loader):.3f}"
        if device.type == "cuda":
            line += f" memory {torch.cuda.memory_allocated() / 2 ** 20:.0f} MB"
        print(line)


if __name__ == "__main__":
    main()
