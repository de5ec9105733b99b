# line 41: the causal mask is built for the length of the whole sequence while the model sees all but its last token; mended by: building the mask with the length of the input
import torch
import torch.nn as nn
import torch.nn.functional as F

NOTES = 40


def random_walk_melody(n, length):
    steps = torch.randint(-2, 3, (n, length))
    return (20 + steps.cumsum(1)).clamp(0, NOTES - 1)


class MelodyTransformer(nn.Module):
    def __init__(self, dim=32, heads=4, layers=2, max_len=64):
        super().__init__()
        self.note = nn.Embedding(NOTES, dim)
        self.time = nn.Embedding(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.ln = nn.LayerNorm(dim)

    def forward(self, notes, mask):
        pos = torch.arange(notes.size(1), device=notes.device)
        h = self.note(notes) + self.time(pos)
        h = self.enc(h, mask=mask)
        return self.ln(h) @ self.note.weight.t()


class Trainer:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)

    @staticmethod
    def causal(size):
        return torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)

    def step(self, seq):
        inp, tgt = seq[:, :-1], seq[:, 1:]
        mask = self.causal(seq.size(1))
        logits = self.model(inp, mask)
        loss = F.cross_entropy(logits.transpose(1, 2), tgt)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def sample(self, seed, n):
        self.model.eval()
        seq = seed
        for _ in range(n):
            logits = self.model(seq, self.causal(seq.size(1)))[:, -1]
            nxt = torch.multinomial(logits.softmax(-1), 1)
            seq = torch.cat([seq, nxt], dim=1)
        return seq


torch.manual_seed(0)
trainer = Trainer(MelodyTransformer())
songs = random_walk_melody(64, 33)
for epoch in range(2):
    losses = [trainer.step(b) for b in songs.split(16)]
    print("epoch", epoch, sum(losses) / len(losses))
print(trainer.sample(songs[:1, :4], 6))
