import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

options = {"n_words": 300, "n_emb": 32, "n_hid": 48, "n_layers": 3, "act": "Tanh", "n_classes": 3, "lr": 1e-3}


class SNLINet(nn.Module):
    def __init__(self, options):
        super(SNLINet, self).__init__()
        self.embed = nn.Embedding(options["n_words"], options["n_emb"])
        self.rnn = nn.GRU(options["n_emb"], options["n_hid"], batch_first=True)
        self.hids = []
        indim = 4 * options["n_hid"]
        for li in range(options["n_layers"]):
            self.hids.append([
                nn.Linear(indim, options["n_hid"]),
                getattr(nn, options["act"])(),
            ])
            indim = options["n_hid"]
        self.classifier = nn.Linear(options["n_hid"], options["n_classes"])

    def sentence(self, words):
        _, h = self.rnn(self.embed(words))
        return h[-1]

    def forward(self, premise, hypothesis):
        p, h = self.sentence(premise), self.sentence(hypothesis)
        x = torch.cat([p, h, (p - h).abs(), p * h], dim=1)
        for linear, act in self.hids:
            x = act(linear(x))
        return self.classifier(x)


def pairs(n):
    label = torch.randint(0, 3, (n,))
    premise = torch.randint(0, options["n_words"], (n, 12))
    hypothesis = premise.clone()
    neutral = label == 1
    hypothesis[neutral] = torch.randint(0, options["n_words"], (int(neutral.sum()), 12))
    hypothesis[label == 2] = premise[label == 2].flip(1)
    return premise, hypothesis, label


net = SNLINet(options)
optimizer = torch.optim.Adam(net.parameters(), lr=options["lr"])
print("trainable parameters:", sum(p.numel() for p in net.parameters() if p.requires_grad))

valid = pairs(200)
for epoch in range(3):
    net.train()
    total = 0.0
    for it in range(20):
        premise, hypothesis, label = pairs(32)
        loss = F.cross_entropy(net(premise, hypothesis), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(valid[0], valid[1]).argmax(dim=1) == valid[2]).float().mean().item()
    print("epoch %d loss %.3f valid accuracy %.3f" % (epoch, total / 20, acc))
