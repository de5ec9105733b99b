# line 17: the values of topk, not its indices, are compared with the labels for the top-3 rate
import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(4)


def top_k_rate(model, images, labels, k=3):
    model.eval()
    hits = np.zeros(len(labels), dtype=bool)
    with torch.no_grad():
        for start in range(0, len(labels), 25):
            window = slice(start, start + 25)
            log_probs = F.log_softmax(model(images[window]), dim=1)
            leaders = log_probs.topk(k, dim=1)[0]
            found = leaders.eq(labels[window].view(-1, 1)).any(dim=1)
            hits[window] = found.numpy()
    return hits.mean()


def train_epoch(model, opt, images, labels):
    model.train()
    order = torch.randperm(len(labels))
    for idx in order.split(25):
        opt.zero_grad()
        F.nll_loss(F.log_softmax(model(images[idx]), dim=1), labels[idx]).backward()
        opt.step()


labels = torch.randint(8, (200,))
images = torch.randn(200, 1, 8, 8)
images[torch.arange(200), 0, labels] += 1.5
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 8, 3, padding=1),
    torch.nn.BatchNorm2d(8),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(512, 8),
)
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for epoch in range(3):
    train_epoch(net, opt, images[:150], labels[:150])
    print(epoch, "top-3:", top_k_rate(net, images[150:], labels[150:]))
