import random
import re
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

MOODS = {"bad": 0, "mixed": 1, "good": 2}
PHRASES = {
    "bad": ["broke after a day", "very poor quality", "wants my money back", "awful smell"],
    "mixed": ["does the job", "not great not terrible", "average for the price", "slow delivery but fine"],
    "good": ["works like a charm", "excellent quality", "would buy again", "my kids love it"],
}


def star_to_mood(stars):
    if stars <= 2:
        return "bad"
    return "mixed" if stars == 3 else "good"


def sample_reviews(n, seed):
    rnd = random.Random(seed)
    rows = []
    for _ in range(n):
        stars = rnd.randint(1, 5)
        body = " and ".join(rnd.sample(PHRASES[star_to_mood(stars)], 2))
        rows.append({"stars": stars, "text": body})
    return rows


class Vocabulary:
    def __init__(self, rows, min_count=1):
        counts = Counter(w for r in rows for w in self.split(r["text"]))
        self.index = {"<pad>": 0, "<unk>": 1}
        for word, c in counts.most_common():
            if c >= min_count:
                self.index[word] = len(self.index)

    @staticmethod
    def split(text):
        return re.findall(r"[a-z]+", text.lower())

    def encode(self, text):
        return [self.index.get(w, 1) for w in self.split(text)]

    def __len__(self):
        return len(self.index)


class ReviewSet(Dataset):
    def __init__(self, rows, vocab, max_len=12):
        self.items = []
        for r in rows:
            ids = vocab.encode(r["text"])[:max_len]
            ids += [0] * (max_len - len(ids))
            self.items.append((torch.tensor(ids), MOODS[star_to_mood(r["stars"])]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class BagOfEmbeddings(nn.Module):
    def __init__(self, vocab_size, n_moods, dim=32):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab_size, dim, mode="mean", padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, n_moods))

    def forward(self, ids):
        return self.mlp(self.emb(ids))


def main():
    torch.manual_seed(0)
    train_rows, test_rows = sample_reviews(300, 1), sample_reviews(80, 2)
    vocab = Vocabulary(train_rows)
    train = DataLoader(ReviewSet(train_rows, vocab), batch_size=20, shuffle=True)
    test = DataLoader(ReviewSet(test_rows, vocab), batch_size=20)
    model = BagOfEmbeddings(len(vocab), len(MOODS))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(5):
        model.train()
        for ids, mood in train:
            loss = criterion(model(ids), mood)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(ids).argmax(1) == mood).sum().item() for ids, mood in test)
        print(f"epoch {epoch} accuracy {hits / len(test_rows):.2f}")


main()
