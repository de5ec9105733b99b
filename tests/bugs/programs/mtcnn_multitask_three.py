import torch
import torch.nn as nn
import torch.nn.functional as F


class RNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 3),
            nn.PReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 24, 3),
            nn.PReLU(),
            nn.Conv2d(24, 32, 3, stride=1),
            nn.PReLU(),
        )
        self.fc = nn.Linear(32 * 3 * 3, 64)
        self.face = nn.Linear(64, 2)
        self.bbox = nn.Linear(64, 4)
        self.landmark = nn.Linear(64, 5)

    def forward(self, x):
        x = self.conv(x)
        x = F.relu(self.fc(x.flatten(1)))
        return self.face(x), self.bbox(x), self.landmark(x)


def multitask_loss(out, batch):
    face, bbox, landmark = out
    l_mark = F.smooth_l1_loss(landmark, batch["landmark"].flatten(1))
    l_box = F.smooth_l1_loss(bbox, batch["bbox"])
    l_face = F.cross_entropy(face, batch["face"])
    return l_face + 0.5 * l_box + 0.5 * l_mark


def main(images, boxes, points, face):
    net = RNet()
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    batch = {"bbox": boxes, "landmark": points, "face": face}
    loss = multitask_loss(net(images), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def example_inputs():
    n = 7
    return (
        torch.rand(n, 3, 20, 20),
        torch.rand(n, 4),
        torch.rand(n, 5, 2),
        torch.randint(0, 2, (n, 1)),
    )
