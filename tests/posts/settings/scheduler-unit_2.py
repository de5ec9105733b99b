# line 47: the linear warm-up and decay is planned in updates (epochs x batches) but stepped once for each epoch
import torch
import torch.nn as nn


def linear_schedule(optimizer, warmup_steps, total_steps):
    def factor(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return max(0.0, (total_steps - step) / (total_steps - warmup_steps))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


class Embedder(nn.Module):
    def __init__(self, n=60, d=16, k=4):
        super().__init__()
        self.e = nn.Embedding(n, d)
        self.att = nn.MultiheadAttention(d, 2, batch_first=True)
        self.k = nn.Linear(d, k)

    def forward(self, ids):
        h = self.e(ids)
        return self.k((h + self.att(h, h, h, need_weights=False)[0]).mean(1))


hp = dict(lr=5e-3, epochs=6, batch=25, warmup_ratio=0.1)
torch.manual_seed(0)
topic = torch.randint(4, (250,))
ids = torch.randint(15, (250, 8)) + 15 * topic[:, None]
ids[:, :5] = torch.randint(60, (250, 5))
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(ids, topic), batch_size=hp["batch"], shuffle=True
)
net = Embedder()
opt = torch.optim.AdamW(net.parameters(), lr=hp["lr"])
num_updates = hp["epochs"] * len(loader)
sched = linear_schedule(opt, int(hp["warmup_ratio"] * num_updates), num_updates)
for epoch in range(hp["epochs"]):
    net.train()
    running = 0.0
    for words, t in loader:
        opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(words), t)
        loss.backward()
        opt.step()
        running += loss.item()
    sched.step()
    print(epoch, running / len(loader), sched.get_last_lr())
