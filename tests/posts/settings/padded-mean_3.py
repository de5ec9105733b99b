# line 38: the frames of an utterance are summed by einsum and divided by the padded length, though attention masks the padding
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(5)


def make_utterances(n):
    clips, speakers = [], []
    for _ in range(n):
        who = int(torch.randint(4, (1,)))
        length = int(torch.randint(6, 25, (1,)))
        clips.append(torch.randn(length, 10) + torch.eye(10)[who])
        speakers.append(who)
    return clips, torch.tensor(speakers)


def collate(clips):
    lengths = torch.tensor([len(c) for c in clips])
    padded = pad_sequence(clips, batch_first=True)
    pad_mask = torch.arange(padded.size(1))[None, :] >= lengths[:, None]
    return padded, pad_mask, lengths


class SpeakerNet(nn.Module):
    def __init__(self, n_mels=10, width=32, speakers=4):
        super().__init__()
        self.up = nn.Linear(n_mels, width)
        self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, speakers)

    def forward(self, frames, pad_mask, lengths):
        h = self.up(frames)
        mixed, _ = self.attn(h, h, h, key_padding_mask=pad_mask, need_weights=False)
        h = self.norm(h + mixed)
        pooled = torch.einsum("btd->bd", h) / frames.shape[1]
        return self.out(pooled)


net = SpeakerNet()
adam = torch.optim.Adam(net.parameters(), lr=2e-3)
clips, speakers = make_utterances(256)
for epoch in range(4):
    for idx in torch.randperm(len(clips)).split(32):
        batch = collate([clips[i] for i in idx.tolist()])
        loss = nn.functional.cross_entropy(net(*batch), speakers[idx])
        adam.zero_grad()
        loss.backward()
        adam.step()

net.eval()
clips, speakers = make_utterances(64)
with torch.no_grad():
    guess = net(*collate(clips)).argmax(-1)
print("identified", (guess == speakers).float().mean().item())
