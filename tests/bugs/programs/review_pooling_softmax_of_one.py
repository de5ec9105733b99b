import torch
import torch.nn as nn


class Model(nn.Module):
    """Sentiment of a review, words weighted by attention."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(180, 24)
        self.lstm = nn.LSTM(24, 16, bidirectional=True, batch_first=True)
        self.score = nn.Sequential(
            nn.Linear(32, 16),
            nn.Tanh(),
            nn.Linear(16, 1),
            nn.Softmax(dim=-1),
        )
        self.fc = nn.Linear(32, 2)

    def forward(self, words):
        h, _ = self.lstm(self.embed(words))
        alpha = self.score(h)
        review = (alpha * h).sum(dim=1)
        return self.fc(review)


def example_inputs():
    return (torch.randint(0, 180, (9, 14)),)
