import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer
from torch.utils.data import TensorDataset, DataLoader


class config:
    vocab = 300
    embed_dim = 50
    n_filters = 32
    filter_sizes = (2, 3, 4)
    n_classes = 3
    max_len = 24
    batch_size = 16
    lr = 1e-3
    epochs = 3


class AdaStep(Optimizer):
    """Adam whose step size of every tensor is adapted during the training"""

    def __init__(self, params, lr=1e-3, lr2=0.005, betas=(0.9, 0.99), eps=1e-8):
        if lr < 0:
            raise ValueError("lr has to be positive")
        self.n_weights = 0
        for p in params:
            if isinstance(p, dict):
                self.n_weights += sum(q.numel() for q in p["params"])
            else:
                self.n_weights += p.numel()
        defaults = dict(lr=lr, lr2=lr2, betas=betas, eps=eps)
        super(AdaStep, self).__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["t"] = 0
                    state["lr"] = group["lr"]
                    state["m"] = torch.zeros_like(p)
                    state["v"] = torch.zeros_like(p)
                    state["last"] = torch.zeros_like(p)
                state["t"] += 1
                m, v = state["m"], state["v"]
                m.mul_(b1).add_(p.grad, alpha=1 - b1)
                v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                mh = m / (1 - b1 ** state["t"])
                vh = v / (1 - b2 ** state["t"])
                d = mh / (vh.sqrt() + group["eps"])
                agree = torch.sign((d * state["last"]).sum()).item()
                state["lr"] *= 1 + group["lr2"] * agree
                p.sub_(state["lr"] * d)
                state["last"].copy_(d)
        return loss


class TextCNN(nn.Module):
    def __init__(self, pretrained):
        super(TextCNN, self).__init__()
        self.embedding = nn.Embedding.from_pretrained(pretrained, freeze=True)
        self.convs = nn.ModuleList([
            nn.Conv1d(config.embed_dim, config.n_filters, k) for k in config.filter_sizes])
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(len(config.filter_sizes) * config.n_filters, config.n_classes)

    def forward(self, text):
        x = self.embedding(text).transpose(1, 2)
        pooled = [F.relu(conv(x)).max(dim=2)[0] for conv in self.convs]
        return self.fc(self.dropout(torch.cat(pooled, dim=1)))


def make_iterators():
    rng = np.random.RandomState(3)
    texts = rng.randint(1, config.vocab, size=(320, config.max_len))
    labels = texts[:, 0] % config.n_classes
    texts, labels = torch.from_numpy(texts).long(), torch.from_numpy(labels).long()
    train = TensorDataset(texts[:256], labels[:256])
    valid = TensorDataset(texts[256:], labels[256:])
    return (DataLoader(train, batch_size=config.batch_size, shuffle=True),
            DataLoader(valid, batch_size=config.batch_size))


def evaluate(model, iterator):
    model.eval()
    right = 0
    with torch.no_grad():
        for text, label in iterator:
            right += (model(text).argmax(1) == label).sum().item()
    return right / len(iterator.dataset)


if __name__ == "__main__":
    torch.manual_seed(1)
    glove = torch.randn(config.vocab, config.embed_dim)
    model = TextCNN(glove)
    train_iter, valid_iter = make_iterators()

    params = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = AdaStep(params, lr=config.lr)
    print("weights to train:", optimizer.n_weights)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(config.epochs):
        model.train()
        for text, label in train_iter:
            optimizer.zero_grad()
            loss = criterion(model(text), label)
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item(), "valid acc", evaluate(model, valid_iter))
