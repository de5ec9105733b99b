import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(500, 32)
        self.lstm = nn.LSTM(32, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, 4)

    def forward(self, tokens):
        x = self.embedding(tokens)
        x, _ = self.lstm(x)
        return self.out(x)


def train_step(model, optimizer, tokens, labels):
    optimizer.zero_grad()
    logits = model(tokens)
    loss = F.cross_entropy(logits, labels, ignore_index=-100)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss, logits.argmax(-1)


def main(tokens, labels):
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    loss, predicted = train_step(model, optimizer, tokens, labels)
    return loss.detach(), predicted


def example_inputs():
    tokens = torch.randint(0, 500, (6, 20))
    labels = torch.randint(0, 4, (6, 20))
    labels[:, 15:] = -100
    return tokens, labels
