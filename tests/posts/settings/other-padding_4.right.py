# line 39: the loss of the phonemes ignores the padding index of the letters, so padding is learned and a phoneme left out
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

letters = {"chars": "abcdefghij", "pad": 0}
phones = {"chars": "ABCDEFGHIJ", "pad": 10}


class G2P(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.letter_emb = nn.Embedding(11, dim, padding_idx=letters["pad"])
        self.phone_emb = nn.Embedding(11, dim, padding_idx=phones["pad"])
        self.enc = nn.GRU(dim, dim, batch_first=True)
        self.dec = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, 11)

    def forward(self, word, previous):
        _, state = self.enc(self.letter_emb(word))
        return self.out(self.dec(self.phone_emb(previous), state)[0])


def dictionary(n):
    words, sounds = [], []
    for _ in range(n):
        size = int(torch.randint(3, 7, (1,)))
        w = torch.randint(1, 11, (size,))
        words.append(w)
        sounds.append((w + 2) % 10)
    return (
        pad_sequence(words, batch_first=True, padding_value=letters["pad"]),
        pad_sequence(sounds, batch_first=True, padding_value=phones["pad"]),
    )


torch.manual_seed(8)
model = G2P()
criterion = nn.CrossEntropyLoss(ignore_index=phones["pad"])
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
word, sound = dictionary(300)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(300).split(30):
        scores = model(word[idx], sound[idx, :-1])
        loss = criterion(scores.transpose(1, 2), sound[idx, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

model.eval()
word, sound = dictionary(100)
with torch.no_grad():
    guess = model(word, sound[:, :-1]).argmax(-1)
real = sound[:, 1:] != phones["pad"]
print("phoneme accuracy", (guess == sound[:, 1:])[real].float().mean().item())
