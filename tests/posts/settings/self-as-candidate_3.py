# line 34: the neighbours of each point are searched among all points with the point itself, so it votes for its own label
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def point_clouds(n, points=32):
    label = torch.randint(0, 3, (n,))
    cloud = torch.randn(n, points, 3)
    ball = F.normalize(cloud, dim=-1)
    disc = cloud * torch.tensor([1.0, 1.0, 0.1])
    stick = cloud * torch.tensor([1.0, 0.3, 0.3])
    shapes = torch.stack([ball, disc, stick])
    return shapes[label, torch.arange(n)] + 0.3 * torch.randn(n, points, 3), label


class PointNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32))
        self.out = nn.Linear(32, dim)

    def forward(self, cloud):
        return F.normalize(self.out(F.relu(self.local(cloud)).amax(dim=1)), dim=-1)


@torch.no_grad()
def leave_one_out_knn(model, cloud, label, k=3):
    model.eval()
    code = model(cloud)
    distance = torch.cdist(code, code)
    nearest = distance.topk(k, dim=1, largest=False).indices
    votes = F.one_hot(label[nearest], 3).sum(dim=1)
    return (votes.argmax(dim=1) == label).float().mean().item()


def triplet_step(model, optimizer, cloud, label):
    model.train()
    code = model(cloud)
    others = ~torch.eye(len(label), dtype=torch.bool)
    alike = (label[:, None] == label[None, :]) & others
    positive = torch.stack([torch.nonzero(row).flatten()[0] for row in alike])
    negative = torch.stack([torch.nonzero(label != c).flatten()[0] for c in label])
    loss = F.triplet_margin_loss(code, code[positive], code[negative], margin=0.5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


model = PointNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(60):
    loss = triplet_step(model, optimizer, *point_clouds(30))
    if step % 20 == 0:
        print(step, loss, leave_one_out_knn(model, *point_clouds(120)))
print("knn accuracy", leave_one_out_knn(model, *point_clouds(200)))
