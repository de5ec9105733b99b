# Character-level GRU that invents street names (after the well-known names tutorial)
import random
import torch
import torch.nn as nn

random.seed(3)
torch.manual_seed(3)

streets = ["maple street", "mill lane", "market square", "station road", "church lane", "park avenue",
           "castle street", "bridge road", "garden lane", "harbour street", "victoria road", "kings avenue",
           "queens square", "north street", "south lane", "forest avenue", "river road", "abbey lane"]

SOS, EOS = "<", ">"
alphabet = sorted(set("".join(streets))) + [SOS, EOS]
char2id = {c: i for i, c in enumerate(alphabet)}


class NameGRU(nn.Module):
    def __init__(self, n_chars, emb=24, hidden=96):
        super().__init__()
        self.embed = nn.Embedding(n_chars, emb)
        self.gru = nn.GRU(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n_chars)

    def forward(self, x, hidden=None):
        y, hidden = self.gru(self.embed(x), hidden)
        return self.out(y), hidden


def to_tensor(name):
    ids = [char2id[c] for c in SOS + name + EOS]
    ids = torch.tensor(ids).unsqueeze(0)
    return ids[:, :-1], ids[:, 1:]


model = NameGRU(len(alphabet))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

model.train()
for epoch in range(25):
    random.shuffle(streets)
    running = 0.0
    for name in streets:
        x, y = to_tensor(name)
        logits, _ = model(x)
        loss = criterion(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if (epoch + 1) % 5 == 0:
        print(f"epoch {epoch + 1}: {running / len(streets):.3f}")


def sample(start, max_len=25, temperature=0.5):
    model.eval()
    with torch.no_grad():
        name = start
        prefix = torch.tensor([[char2id[c] for c in SOS + start]])
        logits, hidden = model(prefix)
        for _ in range(max_len):
            probs = torch.softmax(logits[0, -1] / temperature, dim=-1)
            next_id = torch.multinomial(probs, 1).item()
            if alphabet[next_id] == EOS:
                break
            name += alphabet[next_id]
            logits, _ = model(torch.tensor([[next_id]]))
    return name


for start in ["m", "ca", "qu", "st", "v"]:
    print(start, "->", sample(start))
