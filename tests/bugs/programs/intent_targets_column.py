import torch
from torch import nn, optim

PARAMS = {"vocab": 300, "emb": 24, "intents": 11, "lr": 1e-3}


class IntentNet(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.bag = nn.EmbeddingBag(p["vocab"], p["emb"], mode="mean")
        self.fc = nn.Linear(p["emb"], p["intents"])

    def forward(self, text, offsets):
        return self.fc(self.bag(text, offsets))


def collate(batch):
    labels, texts, offsets = [], [], [0]
    for label, text in batch:
        labels.append(label)
        texts.append(text)
        offsets.append(text.size(0))
    labels = torch.tensor(labels, dtype=torch.int64).unsqueeze(1)
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    return labels, torch.cat(texts), offsets


def main(a, b, c):
    model = IntentNet(PARAMS)
    optimizer = optim.SGD(model.parameters(), lr=PARAMS["lr"])
    criterion = nn.CrossEntropyLoss()
    label, text, offsets = collate([(3, a), (0, b), (10, c)])
    optimizer.zero_grad()
    predicted = model(text, offsets)
    loss = criterion(predicted, label)
    loss.backward()
    optimizer.step()
    return loss, predicted


def example_inputs():
    return tuple(torch.randint(0, 300, (n,)) for n in (4, 7, 5))
