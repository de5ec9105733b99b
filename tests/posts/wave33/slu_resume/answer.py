import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

N_MELS, FRAMES, N_INTENTS = 20, 40, 6


class IntentModel(nn.Module):
    """Small pretrained-phoneme-style encoder followed by an intent classifier."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(N_MELS, 32, 5, stride=2, padding=2)
        self.rnn = nn.GRU(32, 32, batch_first=True, bidirectional=True)
        self.intent = nn.Linear(64, N_INTENTS)

    def forward(self, x):
        h = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.intent(h.max(dim=1).values)


class Trainer:
    def __init__(self, model, folder, lr=2e-3):
        self.model = model
        self.checkpoint_path = os.path.join(folder, "model_state.pth")
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.epoch = 0
        self.loss_fn = nn.CrossEntropyLoss()

    def load_checkpoint(self):
        if os.path.isfile(self.checkpoint_path):
            state = torch.load(self.checkpoint_path)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.epoch = state["epoch"]
            print("checkpoint loaded, continuing")

    def save_checkpoint(self):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch}, self.checkpoint_path)

    def train(self, loader):
        self.epoch += 1
        self.model.train()
        total, hits, n = 0.0, 0, 0
        for x, y in loader:
            logits = self.model(x)
            loss = self.loss_fn(logits, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
            hits += (logits.argmax(1) == y).sum().item()
            n += len(y)
        self.save_checkpoint()
        return total / n, hits / n

    @torch.no_grad()
    def test(self, loader):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in loader)
        return hits / len(loader.dataset)


def make_speech(n, seed):
    gen = torch.Generator().manual_seed(seed)
    y = torch.randint(0, N_INTENTS, (n,), generator=gen)
    x = torch.randn(n, FRAMES, N_MELS, generator=gen)
    for i in range(n):
        start = torch.randint(0, FRAMES - 10, (1,), generator=gen).item()
        x[i, start:start + 10, 3 * y[i]:3 * y[i] + 3] += 1.0
    return TensorDataset(x, y)


def run(folder, num_epochs, restart):
    train_loader = DataLoader(make_speech(240, 0), batch_size=24, shuffle=True)
    test_loader = DataLoader(make_speech(120, 1), batch_size=60)
    trainer = Trainer(IntentModel(), folder)
    if restart:
        trainer.load_checkpoint()
    log = os.path.join(folder, "log.csv")
    with open(log, "a" if restart else "w") as f:
        for _ in range(num_epochs):
            loss, acc = trainer.train(train_loader)
            test_acc = trainer.test(test_loader)
            print("epoch %d: train loss %.4f acc %.3f, test acc %.3f" % (trainer.epoch, loss, acc, test_acc))
            f.write("%d,%.4f,%.3f,%.3f\n" % (trainer.epoch, loss, acc, test_acc))


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        run(folder, num_epochs=4, restart=False)
        run(folder, num_epochs=4, restart=True)
        print(open(os.path.join(folder, "log.csv")).read())
