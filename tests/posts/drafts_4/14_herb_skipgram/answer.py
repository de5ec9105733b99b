import itertools
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(6)
torch.manual_seed(6)

CUISINES = {
    "italian": ["basil", "oregano", "tomato", "parmesan", "garlic"],
    "thai": ["lemongrass", "galangal", "coconut", "chili", "lime"],
    "indian": ["cumin", "turmeric", "cardamom", "ginger", "ghee"],
    "mexican": ["cilantro", "jalapeno", "avocado", "corn", "beans"],
}
COMMON = ["salt", "onion", "water", "oil"]


def make_recipe():
    herbs = CUISINES[random.choice(list(CUISINES))]
    return random.sample(herbs, 4) + random.sample(COMMON, 1)


recipes = [make_recipe() for _ in range(500)]
words = sorted({w for r in recipes for w in r})
word2idx = {w: i for i, w in enumerate(words)}

counts = torch.zeros(len(words))
for w in itertools.chain.from_iterable(recipes):
    counts[word2idx[w]] += 1
noise = counts ** 0.75

pairs = []
for recipe in recipes:
    for a, b in itertools.permutations(recipe, 2):
        pairs.append((word2idx[a], word2idx[b]))
pairs = torch.tensor(pairs)
print(len(words), "ingredients,", len(pairs), "pairs")


class SkipGram(nn.Module):
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.in_embed = nn.Embedding(vocab_size, dim)
        self.out_embed = nn.Embedding(vocab_size, dim)
        nn.init.uniform_(self.in_embed.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.out_embed.weight)

    def forward(self, center, context, negatives):
        v = self.in_embed(center)
        u = self.out_embed(context)
        neg = self.out_embed(negatives)
        pos_score = (v * u).sum(dim=1)
        neg_score = torch.bmm(neg, v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos_score) + F.logsigmoid(-neg_score).sum(dim=1)).mean()


def nearest(model, word, k=4):
    with torch.no_grad():
        table = F.normalize(model.in_embed.weight, dim=1)
        sims = table @ table[word2idx[word]]
    best = sims.topk(k + 1).indices.tolist()
    return [words[i] for i in best if words[i] != word][:k]


model = SkipGram(len(words), dim=20)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
batch_size, n_neg = 256, 5

for epoch in range(5):
    shuffled = pairs[torch.randperm(len(pairs))]
    total, steps = 0.0, 0
    for batch in shuffled.split(batch_size):
        center, context = batch[:, 0], batch[:, 1]
        negatives = torch.multinomial(noise, len(batch) * n_neg, replacement=True).view(len(batch), n_neg)
        loss = model(center, context, negatives)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
    print(f"epoch {epoch} loss {total / steps:.4f}")

for w in ["basil", "lime", "cumin", "corn"]:
    print(w, "->", ", ".join(nearest(model, w)))
