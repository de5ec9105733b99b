import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD, CLS = 0, 1
INTENTS = {
    "light_on": ["switch on the lamp", "light up the {room}", "lamp on in the {room} please"],
    "light_off": ["switch off the lamp", "make the {room} dark", "lamp off in the {room} please"],
    "heating": ["it is cold in the {room}", "warm up the {room}", "heating up please"],
    "music": ["play a song in the {room}", "some jazz please", "put on my list in the {room}"],
}
ROOMS = ["kitchen", "bedroom", "hall", "bath", "office"]
MAX_LEN = 12


def make_commands(n, seed):
    rnd = random.Random(seed)
    out = []
    for _ in range(n):
        intent = rnd.choice(list(INTENTS))
        out.append((rnd.choice(INTENTS[intent]).format(room=rnd.choice(ROOMS)), intent))
    return out


class Commands(Dataset):
    def __init__(self, commands, vocab):
        self.names = list(INTENTS)
        self.commands = commands
        self.vocab = vocab

    def __len__(self):
        return len(self.commands)

    def __getitem__(self, i):
        text, intent = self.commands[i]
        ids = [CLS] + [self.vocab[w] for w in text.split()]
        ids += [PAD] * (MAX_LEN - len(ids))
        return torch.tensor(ids), self.names.index(intent)


class CommandEncoder(nn.Module):
    def __init__(self, vocab_size, n_intents, d_model=32, heads=4, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model, padding_idx=PAD)
        self.positions = nn.Embedding(MAX_LEN, d_model)
        layer = nn.TransformerEncoderLayer(d_model, heads, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d_model, n_intents)

    def forward(self, ids):
        padding = ids != PAD
        x = self.tokens(ids) + self.positions(torch.arange(ids.size(1)))
        x = self.encoder(x, src_key_padding_mask=padding)
        return self.head(x[:, 0])


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        hits = [(model(ids).argmax(1) == intent).float() for ids, intent in loader]
    return torch.cat(hits).mean().item()


def main():
    torch.manual_seed(0)
    train_commands, test_commands = make_commands(400, 0), make_commands(100, 1)
    vocab = {"<pad>": PAD, "<cls>": CLS}
    for text, _ in train_commands + test_commands:
        for word in text.split():
            vocab.setdefault(word, len(vocab))
    train_loader = DataLoader(Commands(train_commands, vocab), batch_size=20, shuffle=True)
    test_loader = DataLoader(Commands(test_commands, vocab), batch_size=50)
    model = CommandEncoder(len(vocab), len(INTENTS))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(8):
        model.train()
        total = 0.0
        for ids, intent in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(ids), intent)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 2:
            print(f"epoch {epoch}: loss {total / len(train_loader):.3f}, accuracy {accuracy(model, test_loader):.2f}")


main()
