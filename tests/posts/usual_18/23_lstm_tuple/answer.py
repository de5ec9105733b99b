# Classify surnames by language, character level (homework 3)
import random
import string
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

ENDINGS = {"Italian": ["ini", "elli", "ucci"], "Polish": ["ski", "wicz", "czyk"], "Greek": ["opoulos", "idis", "akis"]}
LANGS = list(ENDINGS)
CHARS = string.ascii_lowercase
MAXLEN = 14


def make_name(lang):
    stem = "".join(random.choice("bcdfglmnprst") + random.choice("aeio") for _ in range(random.randint(1, 2)))
    return (stem + random.choice(ENDINGS[lang]))[:MAXLEN]


class Surnames(Dataset):
    def __init__(self, n):
        self.pairs = []
        for _ in range(n):
            lang = random.choice(LANGS)
            self.pairs.append((make_name(lang), LANGS.index(lang)))

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        name, lang = self.pairs[i]
        ids = [0] * (MAXLEN - len(name)) + [CHARS.index(c) + 1 for c in name]
        return torch.tensor(ids), lang


class SurnameModel(nn.Module):
    def __init__(self, emb=12, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS) + 1, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(hidden, len(LANGS))

    def forward(self, x):
        features, _ = self.lstm(self.embed(x))
        features = self.drop(features)
        last = features[:, -1]
        return self.fc(last)


random.seed(0)
torch.manual_seed(0)
train_data, test_data = Surnames(400), Surnames(100)
train_loader = DataLoader(train_data, batch_size=20, shuffle=True)
test_loader = DataLoader(test_data, batch_size=50)

model = SurnameModel()
loss_function = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

for epoch in range(1, 4):
    model.train()
    epoch_loss = 0
    for names, langs in train_loader:
        optimizer.zero_grad()
        scores = model(names)
        loss = loss_function(scores, langs)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()

    model.eval()
    correct = 0
    with torch.no_grad():
        for names, langs in test_loader:
            predicted = torch.max(model(names), 1)[1]
            correct += (predicted == langs).sum().item()
    print(f"Epoch {epoch}  loss {epoch_loss / len(train_loader):.3f}  accuracy {correct / len(test_data):.2%}")
