import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class ReviewSet(Dataset):
    def __init__(self, n, vocab_size, length):
        self.tokens = torch.randint(1, vocab_size, (n, length))
        self.stars = (self.tokens[:, :4].sum(1) % 5).long()

    def __len__(self):
        return self.tokens.size(0)

    def __getitem__(self, i):
        return self.tokens[i], self.stars[i]


class AttentivePooling(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.context = nn.Linear(dim, 1, bias=False)

    def forward(self, states):
        u = torch.tanh(self.proj(states))
        scores = self.context(u)
        alpha = torch.softmax(scores, dim=1)
        return (alpha * states).sum(dim=1)


class HAN(nn.Module):
    def __init__(self, vocab_size, emb_dim=32, hidden=32, n_classes=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb_dim)
        self.gru = nn.GRU(emb_dim, hidden, bidirectional=True, batch_first=True)
        self.pool = AttentivePooling(2 * hidden)
        self.out = nn.Linear(2 * hidden, n_classes)

    def forward(self, tokens):
        states, _ = self.gru(self.embedding(tokens))
        return self.out(self.pool(states))


if __name__ == "__main__":
    torch.manual_seed(3)
    VOCAB = 200
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train = DataLoader(ReviewSet(384, VOCAB, 20), batch_size=48, shuffle=True)
    valid = DataLoader(ReviewSet(96, VOCAB, 20), batch_size=48)
    net = HAN(VOCAB).to(device)
    ce = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for ep in range(3):
        net.train()
        for tokens, stars in train:
            opt.zero_grad()
            loss = ce(net(tokens.to(device)), stars.to(device))
            loss.backward()
            opt.step()
        net.eval()
        good = 0
        with torch.no_grad():
            for tokens, stars in valid:
                good += (net(tokens.to(device)).argmax(-1).cpu() == stars).sum().item()
        print("epoch", ep, "loss", round(loss.item(), 4), "acc", good / len(valid.dataset))
