import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

N_OBJECTS = 1854
N_TRIPLETS = 1461680


class Similarity(nn.Module):
    def __init__(self, n_items, embed_dim=90):
        super().__init__()
        self.fc = nn.Linear(n_items, embed_dim, bias=False)
        nn.init.normal_(self.fc.weight, 0.1, 0.01)

    def forward(self, x):
        return self.fc(x)


def load_triplets():
    return torch.randint(0, N_OBJECTS, (N_TRIPLETS, 3))


def odd_one_out_loss(anchor, positive, negative):
    sims = torch.stack([(anchor * positive).sum(1), (anchor * negative).sum(1), (positive * negative).sum(1)])
    return -F.log_softmax(sims, dim=0)[0].mean()


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
triplets = load_triplets()
n_items = triplets.shape[0]
loader = DataLoader(TensorDataset(triplets), batch_size=100, shuffle=True)
one_hot = torch.eye(n_items, device=device)
model = Similarity(n_items).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

for epoch in range(500):
    losses = []
    for batch, in loader:
        batch = batch.to(device)
        anchor, positive, negative = (model(one_hot[batch[:, k]]) for k in range(3))
        loss = odd_one_out_loss(anchor, positive, negative)
        loss = loss + 0.008 / n_items * model.fc.weight.abs().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("epoch", epoch, "loss", sum(losses) / len(losses))
