import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device('cuda:0')


class CompensationNet(nn.Module):
    def __init__(self):
        super(CompensationNet, self).__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(3, 32, 3, 2, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 2, 1)
        self.conv3 = nn.Conv2d(64, 64, 3, 1, 1)
        self.conv1_s = nn.Conv2d(3, 32, 3, 2, 1)
        self.conv2_s = nn.Conv2d(32, 64, 3, 2, 1)
        self.transConv1 = nn.ConvTranspose2d(64, 32, 2, 2, 0)
        self.transConv2 = nn.ConvTranspose2d(32, 16, 2, 2, 0)
        self.conv6 = nn.Conv2d(16, 3, 3, 1, 1)
        self.skip = nn.Conv2d(3, 3, 3, 1, 1)

    def forward(self, x, s):
        res = self.relu(self.skip(x))
        s1 = self.relu(self.conv1_s(s))
        s2 = self.relu(self.conv2_s(s1))
        x = self.relu(self.conv1(x) - s1)
        x = self.relu(self.conv2(x) - s2)
        x = self.relu(self.conv3(x))
        x = self.relu(self.transConv1(x))
        x = self.relu(self.transConv2(x))
        x = self.relu(self.conv6(x) + res)
        return torch.clamp(x, max=1)


def load_data(n_train=24, n_valid=6, size=64):
    prj_train, cam_train = torch.rand(n_train, 3, size, size), torch.rand(n_train, 3, size, size)
    prj_valid, cam_valid = torch.rand(n_valid, 3, size, size), torch.rand(n_valid, 3, size, size)
    cam_surf = torch.rand(1, 3, size, size)
    return cam_surf, cam_train, prj_train, cam_valid, prj_valid


def train_model(model, data, iters=10, batch_size=8, valid_rate=5):
    cam_surf, cam_train, prj_train, cam_valid, prj_valid = data
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    for it in range(iters):
        idx = torch.randperm(len(cam_train))[:batch_size]
        cam_batch = cam_train[idx].to(device)
        prj_batch = prj_train[idx].to(device)
        surf = cam_surf.expand_as(cam_train[idx]).to(device)
        model.train()
        loss = F.l1_loss(model(cam_batch, surf), prj_batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % valid_rate == 0:
            print(it, loss.item(), validate(model, cam_surf, cam_valid, prj_valid))


def validate(model, cam_surf, cam_valid, prj_valid):
    model.eval()
    surf = cam_surf.expand_as(cam_valid)
    with torch.no_grad():
        cam_valid.to(device)
        prj_valid.to(device)
        surf.to(device)
        prediction = model(cam_valid, surf)
        mse = F.mse_loss(prediction, prj_valid).item()
    return mse


if __name__ == '__main__':
    torch.manual_seed(0)
    net = CompensationNet().to(device)
    train_model(net, load_data())
