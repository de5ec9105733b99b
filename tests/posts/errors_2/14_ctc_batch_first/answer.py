import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
N_CHARS = 10
MEL = 16


def make_sample():
    text = torch.randint(1, N_CHARS, (int(torch.randint(3, 7, (1,))),))
    frames = torch.nn.functional.one_hot(text, MEL).float().repeat_interleave(6, dim=0)
    return frames + 0.1 * torch.randn_like(frames), text


def collate(batch):
    feats, texts = zip(*batch)
    in_len = torch.tensor([len(f) for f in feats])
    out_len = torch.tensor([len(t) for t in texts])
    return pad_sequence(feats, batch_first=True), torch.cat(texts), in_len, out_len


loader = DataLoader([make_sample() for _ in range(128)], batch_size=16, collate_fn=collate)


class SpeechNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(MEL, 48, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(96, N_CHARS)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out)


model = SpeechNet()
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(3):
    total = 0.0
    for feats, texts, in_len, out_len in loader:
        log_probs = model(feats).log_softmax(dim=-1).transpose(0, 1)
        loss = ctc(log_probs, texts, in_len, out_len)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: ctc {total / len(loader):.3f}")
