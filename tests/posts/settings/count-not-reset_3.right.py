# line 42: the lists of guesses and labels are made once above the epochs, so the F1 of an epoch is that of all epochs so far
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def f1_score(truth, guess):
    truth, guess = np.asarray(truth), np.asarray(guess)
    tp = np.sum((truth == 1) & (guess == 1))
    return 2 * tp / max(np.sum(truth == 1) + np.sum(guess == 1), 1)


class SpamNet(nn.Module):
    def __init__(self, vocab=80):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, 16, mode="sum")
        self.fc = nn.Linear(16, 1)

    def forward(self, mail):
        return self.fc(torch.tanh(self.bag(mail))).squeeze(1)


def mails(n):
    ids = torch.randint(0, 80, (n, 20))
    return TensorDataset(ids, ((ids < 8).sum(1) > 2).float())


def evaluate(net, loader):
    net.eval()
    truth, guess = [], []
    with torch.no_grad():
        for ids, spam in loader:
            guess.extend((net(ids) > 0).int().tolist())
            truth.extend(spam.int().tolist())
    return f1_score(truth, guess)


def train(net, train_loader, dev_loader, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        epoch_truth, epoch_guess = [], []
        net.train()
        for ids, spam in train_loader:
            optimizer.zero_grad()
            logit = net(ids)
            criterion(logit, spam).backward()
            optimizer.step()
            epoch_guess.extend((logit.detach() > 0).int().tolist())
            epoch_truth.extend(spam.int().tolist())
        print(epoch, "F1", f1_score(epoch_truth, epoch_guess), "dev", evaluate(net, dev_loader))


torch.manual_seed(0)
train(
    SpamNet(), DataLoader(mails(600), batch_size=40, shuffle=True), DataLoader(mails(200), batch_size=50), epochs=8
)
