import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


def load():
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32) / 16.0
    y = torch.tensor(digits.target, dtype=torch.long)
    idx_train, idx_test = train_test_split(range(len(y)), test_size=0.25, random_state=0, stratify=y)
    train = TensorDataset(x[idx_train], y[idx_train])
    test = TensorDataset(x[idx_test], y[idx_test])
    return DataLoader(train, batch_size=64, shuffle=True), DataLoader(test, batch_size=64)


net = nn.Sequential(
    nn.Flatten(),
    nn.Linear(64, 100),
    nn.ReLU(),
    nn.Linear(100, 10),
    nn.LogSoftmax(dim=0),
)


def train_epoch(net, dataloader, lr=0.01, optimizer=None, loss_fn=nn.NLLLoss()):
    optimizer = optimizer or torch.optim.Adam(net.parameters(), lr=lr)
    net.train()
    total_loss, acc, count = 0, 0, 0
    for features, labels in dataloader:
        optimizer.zero_grad()
        out = net(features)
        loss = loss_fn(out, labels)
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * len(labels)
        predicted = torch.max(out, 1)[1]
        acc += (predicted == labels).sum().item()
        count += len(labels)
    return total_loss / count, acc / count


def validate(net, dataloader, loss_fn=nn.NLLLoss()):
    net.eval()
    count, acc, loss = 0, 0, 0
    with torch.no_grad():
        for features, labels in dataloader:
            out = net(features)
            loss += loss_fn(out, labels).item() * len(labels)
            acc += (torch.max(out, 1)[1] == labels).sum().item()
            count += len(labels)
    return loss / count, acc / count


def classify(net, image):
    net.eval()
    with torch.no_grad():
        probs = net(image.unsqueeze(0)).exp().squeeze(0)
    return probs


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader, test_loader = load()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    for epoch in range(8):
        tl, ta = train_epoch(net, train_loader, optimizer=optimizer)
        vl, va = validate(net, test_loader)
        print(f"Epoch {epoch:2}, Train acc={ta:.3f}, Val acc={va:.3f}, Train loss={tl:.3f}, Val loss={vl:.3f}")

    image, label = test_loader.dataset[0]
    probs = classify(net, image)
    print("label", label.item(), "probabilities", [round(p, 3) for p in probs.tolist()])
