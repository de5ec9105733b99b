# coding: utf-8
# Image captioning on coloured shapes  (notebook export)

# %% imports
import random
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

random.seed(4)
torch.manual_seed(4)

# %% vocabulary
COLORS = ['red', 'green', 'blue']
SHAPES = ['square', 'bar', 'column']
SIZES = ['small', 'large']
words = ['<pad>', '<start>', '<end>', 'a', 'very', 'on', 'black'] + COLORS + SHAPES + SIZES
stoi = {w: i for i, w in enumerate(words)}
PAD, START, END = 0, 1, 2
MAX_LEN = 12


# %% data
class ShapeCaptions(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            c, s, z = random.randrange(3), random.randrange(3), random.randrange(2)
            extent = 4 if z == 0 else 10
            h = extent if s != 1 else 3
            w = extent if s != 2 else 3
            img = torch.randn(3, 24, 24) * 0.1
            y, x = random.randrange(24 - h), random.randrange(24 - w)
            img[c, y:y + h, x:x + w] += 1.0
            text = ['a', SIZES[z], COLORS[c], SHAPES[s]]
            if random.random() < 0.3:
                text += ['on', 'black']
            ids = [START] + [stoi[t] for t in text] + [END]
            ids += [PAD] * (MAX_LEN - len(ids))
            self.items.append((img, torch.tensor(ids)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


# %% model
class Captioner(nn.Module):
    def __init__(self, vocab_size, embed=32, hidden=64):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 6 * 6, hidden),
        )
        self.embed = nn.Embedding(vocab_size, embed, padding_idx=PAD)
        self.gru = nn.GRU(embed, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, vocab_size)

    def forward(self, images, tokens):
        h0 = self.encoder(images)
        out, _ = self.gru(self.embed(tokens), h0)
        return self.fc(out)

    @torch.no_grad()
    def caption(self, image):
        self.eval()
        tokens = torch.tensor([[START]])
        while tokens.size(1) < MAX_LEN:
            nxt = self(image.unsqueeze(0), tokens)[:, -1].argmax(dim=-1, keepdim=True)
            if nxt.item() == END:
                break
            tokens = torch.cat([tokens, nxt], dim=1)
        return ' '.join(words[t] for t in tokens[0, 1:].tolist())


# %% training
loader = DataLoader(ShapeCaptions(480), batch_size=32, shuffle=True)
model = Captioner(len(words))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(20):
    model.train()
    total = 0
    for images, captions in loader:
        inputs, targets = captions[:, :-1], captions[:, 1:]
        optimizer.zero_grad()
        logits = model(images, inputs)
        loss = criterion(logits, targets)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print('epoch', epoch + 1, 'loss', round(total / len(loader), 4))

# %% look at some captions
for image, ids in ShapeCaptions(3):
    truth = ' '.join(words[i] for i in ids.tolist() if i > END)
    print(truth, '->', model.caption(image))
