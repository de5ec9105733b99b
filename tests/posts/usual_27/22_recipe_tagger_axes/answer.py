import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TAGS = ["O", "QUANTITY", "UNIT", "FOOD", "STATE"]
IGNORE = -100
MAX_LEN = 18
WORDS = {
    "QUANTITY": ["1", "2", "3", "250", "half", "500"],
    "UNIT": ["g", "ml", "cups", "tbsp", "pinch"],
    "FOOD": ["flour", "butter", "onion", "milk", "sugar", "rice", "eggs"],
    "STATE": ["chopped", "melted", "fresh", "ground"],
    "O": ["of", "and", "the", "with", "add"],
}


def recipe_line(rnd):
    pairs = []
    for _ in range(rnd.randint(2, 3)):
        pairs.append((rnd.choice(WORDS["QUANTITY"]), "QUANTITY"))
        pairs.append((rnd.choice(WORDS["UNIT"]), "UNIT"))
        if rnd.random() < 0.5:
            pairs.append((rnd.choice(WORDS["STATE"]), "STATE"))
        pairs.append((rnd.choice(WORDS["FOOD"]), "FOOD"))
        pairs.append((rnd.choice(WORDS["O"]), "O"))
    return pairs


VOCAB = {"<pad>": 0}
for words in WORDS.values():
    for word in words:
        VOCAB[word] = len(VOCAB)


class RecipeLines(Dataset):
    def __init__(self, n, seed):
        rnd = random.Random(seed)
        self.lines = [recipe_line(rnd) for _ in range(n)]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        words, tags = zip(*self.lines[i])
        ids = torch.zeros(MAX_LEN, dtype=torch.long)
        ids[:len(words)] = torch.tensor([VOCAB[w] for w in words])
        target = torch.full((MAX_LEN,), IGNORE)
        target[:len(tags)] = torch.tensor([TAGS.index(t) for t in tags])
        return ids, target


class RecipeTagger(nn.Module):
    def __init__(self, n_words, n_tags, dim=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(n_words, dim, padding_idx=0)
        self.context = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.1)
        self.score = nn.Linear(2 * hidden, n_tags)

    def forward(self, ids):
        features, _ = self.context(self.embed(ids))
        return self.score(self.dropout(features)).transpose(1, 2)


def tag_accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for ids, target in loader:
            guess = model(ids).argmax(dim=1)
            known = target != IGNORE
            right += (guess == target)[known].sum().item()
            total += known.sum().item()
    return right / total


def train_model(model, train_loader, valid_loader, epochs):
    criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.train()
        for ids, target in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(ids), target)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, tag accuracy {tag_accuracy(model, valid_loader):.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_model(
        RecipeTagger(len(VOCAB), len(TAGS)),
        DataLoader(RecipeLines(320, 0), batch_size=16, shuffle=True),
        DataLoader(RecipeLines(80, 1), batch_size=16),
        epochs=4,
    )
