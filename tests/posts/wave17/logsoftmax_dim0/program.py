import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = 'cuda' if torch.cuda.is_available() else 'cpu'


def load_data(test_size=0.25):
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)
    x_train, x_test, y_train, y_test = train_test_split(
        images, digits.target, test_size=test_size, random_state=42, stratify=digits.target)
    to_set = lambda x, y: TensorDataset(torch.from_numpy(x).unsqueeze(1), torch.from_numpy(y).long())
    return to_set(x_train, y_train), to_set(x_test, y_test)


def build_net():
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 100),
        nn.ReLU(),
        nn.Linear(100, 10),
        nn.LogSoftmax(dim=0))


def train_epoch(net, dataloader, lr=0.01, optimizer=None, loss_fn=nn.NLLLoss()):
    optimizer = optimizer or torch.optim.Adam(net.parameters(), lr=lr)
    net.train()
    total_loss, acc, count = 0, 0, 0
    for features, labels in dataloader:
        optimizer.zero_grad()
        out = net(features.to(device))
        loss = loss_fn(out, labels.to(device))
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        predicted = torch.max(out, 1)[1]
        acc += (predicted == labels.to(device)).sum().item()
        count += len(labels)
    return total_loss / len(dataloader), acc / count


def validate(net, dataloader, loss_fn=nn.NLLLoss()):
    net.eval()
    count, acc, loss = 0, 0, 0
    with torch.no_grad():
        for features, labels in dataloader:
            out = net(features.to(device))
            loss += loss_fn(out, labels.to(device)).item()
            pred = torch.max(out, 1)[1]
            acc += (pred == labels.to(device)).sum().item()
            count += len(labels)
    return loss / len(dataloader), acc / count


def train(net, train_loader, test_loader, epochs=10, lr=0.01):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    res = {'train_loss': [], 'train_acc': [], 'val_loss': [], 'val_acc': []}
    for ep in range(epochs):
        tl, ta = train_epoch(net, train_loader, optimizer=optimizer)
        vl, va = validate(net, test_loader)
        print(f'Epoch {ep:2}, Train acc={ta:.3f}, Val acc={va:.3f}, Train loss={tl:.3f}, Val loss={vl:.3f}')
        for key, value in zip(res, (tl, ta, vl, va)):
            res[key].append(value)
    return res


def main():
    torch.manual_seed(0)
    data_train, data_test = load_data()
    train_loader = DataLoader(data_train, batch_size=64, shuffle=True)
    test_loader = DataLoader(data_test, batch_size=64)
    net = build_net().to(device)
    history = train(net, train_loader, test_loader)
    print('best validation accuracy', max(history['val_acc']))

    probs = net(data_test[0][0].unsqueeze(0).to(device)).exp()
    print('digit', data_test[0][1].item(), 'probabilities', np.round(probs.detach().cpu().numpy(), 3))


if __name__ == '__main__':
    main()
