import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class TypeEmbedding(nn.Module):
    """Token embedding with a learned vector for every syntactic type."""

    def __init__(self, vocab, n_types, dim):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.type_vectors = nn.Parameter(torch.randn(n_types, dim, device=device) * 0.1)

    def forward(self, words, types):
        return self.tokens(words) + self.type_vectors[types]


class Supertagger(nn.Module):
    def __init__(self, vocab=60, n_types=5, n_tags=6, dim=32):
        super().__init__()
        self.embedding = TypeEmbedding(vocab, n_types, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.tagger = nn.Linear(2 * dim, n_tags)

    def forward(self, words, types):
        h, _ = self.encoder(self.embedding(words, types))
        return self.tagger(h)


def make_sentences(n=400, length=9, vocab=60, n_types=5, n_tags=6):
    g = torch.Generator().manual_seed(11)
    words = torch.randint(0, vocab, (n, length), generator=g)
    types = torch.randint(0, n_types, (n, length), generator=g)
    tags = (words // 12 + types) % n_tags
    return words, types, tags


def train_epoch(model, loader, optimizer):
    model.train()
    loss_sum, batches = 0.0, 0
    for words, types, tags in loader:
        words, types, tags = words.to(device), types.to(device), tags.to(device)
        scores = model(words, types)
        loss = F.cross_entropy(scores.flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item()
        batches += 1
    return loss_sum / batches


@torch.no_grad()
def tag_accuracy(model, loader):
    model.eval()
    right, count = 0, 0
    for words, types, tags in loader:
        best = model(words.to(device), types.to(device)).argmax(dim=-1).cpu()
        right += (best == tags).sum().item()
        count += tags.numel()
    return right / count


def main():
    torch.manual_seed(0)
    words, types, tags = make_sentences()
    train = TensorDataset(words[:320], types[:320], tags[:320])
    test = TensorDataset(words[320:], types[320:], tags[320:])
    train_loader = DataLoader(train, batch_size=32, shuffle=True)
    test_loader = DataLoader(test, batch_size=80)

    model = Supertagger().to(device)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(15):
        loss = train_epoch(model, train_loader, optimizer)
        print("epoch %d loss %.4f test acc %.3f" % (epoch, loss, tag_accuracy(model, test_loader)))
    checkpoint = {k: v.cpu() for k, v in model.state_dict().items()}
    print("saved tensors:", ", ".join(checkpoint))


if __name__ == "__main__":
    main()
