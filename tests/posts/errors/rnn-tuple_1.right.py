# line 24: the speaker encoder's nn.GRU inside nn.Sequential hands its tuple on to the linear layer; mended by: a module that takes the output out of the tuple between GRU and Linear
import torch
from torch import nn
import torch.nn.functional as F


class TimeMean(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


class Conv1dFront(nn.Module):
    def __init__(self, n_mfcc, dim):
        super().__init__()
        self.conv = nn.Conv1d(n_mfcc, dim, 5, padding=2)

    def forward(self, x):
        return F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)


class TakeOutput(nn.Module):
    def forward(self, x):
        return x[0]


def speaker_encoder(n_mfcc=13, dim=24, emb=16):
    return nn.Sequential(
        Conv1dFront(n_mfcc, dim),
        nn.GRU(dim, dim, batch_first=True),
        TakeOutput(),
        nn.Linear(dim, dim),
        nn.Tanh(),
        TimeMean(),
        nn.Linear(dim, emb),
    )


def ge2e_like_loss(emb, n_spk, n_utt, scale=10.0):
    emb = F.normalize(emb, dim=-1).view(n_spk, n_utt, -1)
    centroids = F.normalize(emb.mean(1), dim=-1)
    sim = scale * emb.reshape(n_spk * n_utt, -1) @ centroids.t()
    labels = torch.arange(n_spk).repeat_interleave(n_utt)
    return F.cross_entropy(sim, labels), (sim.argmax(1) == labels).float().mean()


def utterances(n_spk, n_utt, frames=40, n_mfcc=13):
    voice = torch.randn(n_spk, 1, 1, n_mfcc)
    x = voice + 0.8 * torch.randn(n_spk, n_utt, frames, n_mfcc)
    return x.flatten(0, 1)


torch.manual_seed(4)
encoder = speaker_encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
for step in range(15):
    x = utterances(6, 4)
    loss, acc = ge2e_like_loss(encoder(x), 6, 4)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(encoder.parameters(), 3.0)
    optimizer.step()
    if step % 5 == 0:
        print("step %d loss %.3f acc %.2f" % (step, loss, acc))
