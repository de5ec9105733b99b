import re
from collections import Counter

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

RECIPES = [
    ("whisk the eggs with sugar and fold in the flour", "dessert"),
    ("melt chocolate and butter then add sugar", "dessert"),
    ("beat cream with vanilla and sugar until stiff", "dessert"),
    ("bake the apple pie with cinnamon and butter", "dessert"),
    ("brown the beef with onion and garlic", "main"),
    ("roast the chicken with lemon and thyme", "main"),
    ("simmer the lentils with tomato and cumin", "main"),
    ("fry the salmon in butter and add dill", "main"),
    ("toss the lettuce with oil and vinegar", "salad"),
    ("mix cucumber tomato and feta with oil", "salad"),
    ("grate the carrots and add lemon and oil", "salad"),
    ("slice the beets and top with walnuts", "salad"),
] * 10


class Tokenizer:
    SPECIALS = ["<bos>", "<eos>", "<unk>"]

    def __init__(self, texts, min_freq=1):
        counter = Counter()
        for t in texts:
            counter.update(self.split(t))
        words = [w for w, c in counter.most_common() if c >= min_freq]
        self.word2idx = {"<pad>": 0}
        for w in words:
            self.word2idx[w] = len(self.word2idx)
        for s in self.SPECIALS:
            self.word2idx[s] = len(self.word2idx)
        self.vocab_size = len(self.word2idx)
        self.unk = self.word2idx["<unk>"]

    @staticmethod
    def split(text):
        return re.findall(r"[a-z]+", text.lower())

    def encode(self, text):
        ids = [self.word2idx.get(w, self.unk) for w in self.split(text)]
        return [self.word2idx["<bos>"]] + ids + [self.word2idx["<eos>"]]


class CourseClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, 64, kernel_size=3, padding=1)
        self.fc = nn.Linear(64, n_classes)

    def forward(self, tokens):
        x = self.embedding(tokens)
        x = torch.relu(self.conv(x.transpose(1, 2)))
        return self.fc(x.max(dim=2).values)


torch.manual_seed(0)
tokenizer = Tokenizer([t for t, _ in RECIPES])
labels = {name: i for i, name in enumerate(sorted({l for _, l in RECIPES}))}


def collate(batch):
    ids = [torch.tensor(tokenizer.encode(text)) for text, _ in batch]
    ys = torch.tensor([labels[name] for _, name in batch])
    return pad_sequence(ids, batch_first=True, padding_value=0), ys


loader = DataLoader(RECIPES, batch_size=20, shuffle=True, collate_fn=collate)
model = CourseClassifier(tokenizer.vocab_size, len(labels))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(5):
    model.train()
    hits, total_loss = 0, 0.0
    for tokens, y in loader:
        logits = model(tokens)
        loss = loss_fn(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item() * y.size(0)
        hits += (logits.argmax(1) == y).sum().item()
    print(f"epoch {epoch}  loss {total_loss / len(RECIPES):.3f}  acc {hits / len(RECIPES):.3f}")

model.eval()
with torch.no_grad():
    query = torch.tensor([tokenizer.encode("fold the zucchini with sugar and cream")])
    scores = model(query).softmax(dim=1)[0]
for name, i in labels.items():
    print(f"{name}: {scores[i]:.2f}")
