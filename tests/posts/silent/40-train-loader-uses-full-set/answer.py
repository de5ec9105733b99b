import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class GeneExpression(Dataset):
    def __init__(self, n_samples=240, n_genes=200):
        self.expr = torch.randn(n_samples, n_genes)
        self.label = (self.expr[:, :4].sum(dim=1) + 1.5 * torch.randn(n_samples) > 0).long()

    def __len__(self):
        return self.expr.size(0)

    def __getitem__(self, index):
        return self.expr[index], self.label[index]


def build_loaders(batch_size=16, val_fraction=0.25):
    dataset = GeneExpression()
    n_val = int(len(dataset) * val_fraction)
    train_set, val_set = random_split(
        dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(42)
    )
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=batch_size, shuffle=False)
    return train_loader, val_loader


def run(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    loss_sum, correct, count = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for expr, label in loader:
            logits = model(expr)
            loss = criterion(logits, label)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * label.size(0)
            correct += (logits.argmax(dim=1) == label).sum().item()
            count += label.size(0)
    return loss_sum / count, correct / count


def main():
    torch.manual_seed(0)
    train_loader, val_loader = build_loaders()
    model = nn.Sequential(nn.Linear(200, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(8):
        tr_loss, tr_acc = run(model, train_loader, criterion, optimizer)
        va_loss, va_acc = run(model, val_loader, criterion)
        print(f"{epoch}: train {tr_loss:.3f}/{tr_acc:.3f} val {va_loss:.3f}/{va_acc:.3f}")


if __name__ == "__main__":
    main()
