# line 26: the stacked step scores are (T, B, V) and are flattened step by step, the captions (B, T) sample by sample
import torch
import torch.nn.functional as F
from torch import nn

START, VOCAB, STEPS = 1, 30, 6


class Captioner(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.init_state = nn.Linear(16, dim)
        self.tokens = nn.Embedding(VOCAB, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.vocab = nn.Linear(dim, VOCAB)

    def forward(self, image, caption):
        state = torch.tanh(self.init_state(self.cnn(image)))
        previous = torch.full_like(caption[:, 0], START)
        steps = []
        for t in range(caption.size(1)):
            state = self.cell(self.tokens(previous), state)
            steps.append(self.vocab(state))
            previous = caption[:, t]
        return torch.stack(steps)


def caption_loss(scores, caption):
    return F.cross_entropy(scores.reshape(-1, VOCAB), caption.reshape(-1))


def fake_coco(n):
    image = torch.rand(n, 3, 16, 16)
    first = 2 + (image.mean(dim=(1, 2, 3)) * 20).long().clamp(max=19)
    caption = (first[:, None] + torch.arange(STEPS)) % (VOCAB - 2) + 2
    return image, caption


torch.manual_seed(0)
net = Captioner()
optimiser = torch.optim.Adam(net.parameters(), lr=2e-3)
for it in range(50):
    image, caption = fake_coco(20)
    loss = caption_loss(net(image, caption), caption)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    if it % 10 == 9:
        print(it + 1, "loss", loss.item())
