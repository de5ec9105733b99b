# line 28: the score of each position is gathered at the token that stands there and not at the next one
import torch
from torch import nn

torch.manual_seed(16)


class MelodyModel(nn.Module):
    def __init__(self, notes, width):
        super().__init__()
        self.note = nn.Embedding(notes, width)
        self.memory = nn.LSTM(width, width, batch_first=True)
        self.next_note = nn.Linear(width, notes)

    def forward(self, melody):
        memory, _ = self.memory(self.note(melody))
        return self.next_note(memory).log_softmax(dim=-1)


def compose(n, length):
    start = torch.randint(12, (n, 1))
    jump = torch.randint(1, 4, (n, 1))
    return (start + jump * torch.arange(length)) % 12


def nll(model, melody):
    log_p = model(melody)
    picked = torch.gather(log_p, 2, melody.unsqueeze(2)).squeeze(2)
    return picked.neg().mean()


melodies = compose(200, 16)
model = MelodyModel(12, 24)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    for idx in torch.randperm(len(melodies)).split(50):
        optimizer.zero_grad()
        loss = nll(model, melodies[idx])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())

model.eval()
song = melodies[:1, :3]
with torch.no_grad():
    for _ in range(8):
        song = torch.cat([song, model(song)[:, -1:].argmax(-1)], dim=1)
print(song.tolist())
