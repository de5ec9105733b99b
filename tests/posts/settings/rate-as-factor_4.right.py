# line 32: the list of lambdas holds the falling rates of the two groups themselves instead of factors
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
BASE_LR, HEAD_LR, GAMMA = 0.005, 0.05, 0.9


class Hybrid(nn.Module):
    def __init__(self):
        super(Hybrid, self).__init__()
        self.text = nn.EmbeddingBag(30, 12)
        self.numbers = nn.Linear(5, 12)
        self.head = nn.Linear(24, 3)

    def forward(self, ids, numbers):
        both = torch.cat([self.text(ids), torch.relu(self.numbers(numbers))], dim=1)
        return self.head(both)


def tickets(n):
    ids, numbers = torch.randint(0, 30, (n, 8)), torch.randn(n, 5)
    urgency = (ids < 10).float().mean(1) * 4 + numbers[:, 0]
    return ids, numbers, torch.bucketize(urgency, torch.tensor([0.8, 1.9]))


def make_scheduler(optimizer):
    return optim.lr_scheduler.LambdaLR(
        optimizer,
        lr_lambda=[
            lambda epoch: GAMMA**epoch,
            lambda epoch: GAMMA**epoch,
        ],
    )


model = Hybrid()
body = [p for name, p in model.named_parameters() if not name.startswith("head")]
optimizer = optim.RMSprop(
    [{"params": body, "lr": BASE_LR}, {"params": model.head.parameters(), "lr": HEAD_LR}]
)
scheduler = make_scheduler(optimizer)
ids, numbers, urgency = tickets(600)
for epoch in range(10):
    model.train()
    total = 0.0
    for rows in torch.randperm(600).split(50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids[rows], numbers[rows]), urgency[rows])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    scheduler.step()
    print(epoch, total / 600)

model.eval()
with torch.no_grad():
    ids, numbers, urgency = tickets(200)
    print("accuracy", (model(ids, numbers).argmax(1) == urgency).float().mean().item())
