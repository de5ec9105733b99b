# line 33: ctc_loss gets the raw scores of the recogniser instead of log-probabilities
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_MEL, N_CHARS, BLANK = 16, 9, 0
prototypes = torch.randn(N_CHARS, N_MEL)


def speak(batch, length=5, repeat=4):
    text = torch.randint(1, N_CHARS, (batch, length))
    frames = prototypes[text].repeat_interleave(repeat, dim=1)
    return frames + 0.2 * torch.randn_like(frames), text


class Recognizer(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.front = nn.Conv1d(N_MEL, hidden, 3, padding=1)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.proj = nn.Linear(2 * hidden, N_CHARS)

    def forward(self, mel):
        h = F.relu(self.front(mel.transpose(1, 2))).transpose(1, 2)
        return self.proj(self.rnn(h)[0])


def training_step(model, mel, text):
    scores = model(mel).transpose(0, 1)
    frame_lens = torch.full((mel.size(0),), scores.size(0), dtype=torch.long)
    text_lens = torch.full((mel.size(0),), text.size(1), dtype=torch.long)
    return F.ctc_loss(scores.log_softmax(-1), text, frame_lens, text_lens, blank=BLANK)


def greedy(scores):
    best = scores.argmax(-1)
    return [[c for c in torch.unique_consecutive(row).tolist() if c != BLANK] for row in best]


model = Recognizer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    mel, text = speak(16)
    optimizer.zero_grad()
    training_step(model, mel, text).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()

model.eval()
with torch.no_grad():
    mel, text = speak(4)
    for guess, truth in zip(greedy(model(mel)), text.tolist()):
        print(guess, truth)
