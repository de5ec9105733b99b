import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CPDataset(Dataset):
    def __init__(self, n=24, height=64, width=48):
        self.cloth = torch.rand(n, 3, height, width) * 2 - 1
        self.agnostic = torch.rand(n, 22, height, width) * 2 - 1
        self.parse_cloth = torch.roll(self.cloth, shifts=(4, -3), dims=(2, 3))

    def __len__(self):
        return len(self.cloth)

    def __getitem__(self, index):
        return {'cloth': self.cloth[index], 'agnostic': self.agnostic[index],
                'parse_cloth': self.parse_cloth[index]}


class FeatureExtraction(nn.Module):
    def __init__(self, input_nc, ngf=16, n_layers=2):
        super(FeatureExtraction, self).__init__()
        model = [nn.Conv2d(input_nc, ngf, kernel_size=4, stride=2, padding=1), nn.ReLU(True), nn.BatchNorm2d(ngf)]
        for i in range(n_layers):
            model += [nn.Conv2d(ngf * 2 ** i, ngf * 2 ** (i + 1), kernel_size=4, stride=2, padding=1),
                      nn.ReLU(True), nn.BatchNorm2d(ngf * 2 ** (i + 1))]
        self.model = nn.Sequential(*model)

    def forward(self, x):
        return self.model(x)


class FeatureL2Norm(nn.Module):
    def forward(self, feature):
        norm = torch.pow(torch.sum(torch.pow(feature, 2), 1) + 1e-6, 0.5).unsqueeze(1).expand_as(feature)
        return torch.div(feature, norm)


class FeatureCorrelation(nn.Module):
    def forward(self, feature_A, feature_B):
        b, c, h, w = feature_A.size()
        feature_A = feature_A.transpose(2, 3).contiguous().view(b, c, h * w)
        feature_B = feature_B.view(b, c, h * w).transpose(1, 2)
        feature_mul = torch.bmm(feature_B, feature_A)
        return feature_mul.view(b, h, w, h * w).transpose(2, 3).transpose(1, 2)


class FeatureRegression(nn.Module):
    def __init__(self, input_nc, output_dim):
        super(FeatureRegression, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(input_nc, 64, kernel_size=4, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
            nn.Conv2d(64, 32, kernel_size=3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.linear = nn.Linear(32 * 4 * 3, output_dim)
        self.tanh = nn.Tanh()

    def forward(self, x):
        x = self.conv(x)
        x = x.view(x.size(0), -1)
        x = self.linear(x)
        return self.tanh(x)


class GMM(nn.Module):
    def __init__(self):
        super(GMM, self).__init__()
        self.extractionA = FeatureExtraction(22)
        self.extractionB = FeatureExtraction(3)
        self.l2norm = FeatureL2Norm()
        self.correlation = FeatureCorrelation()
        self.regression = FeatureRegression(input_nc=8 * 6, output_dim=6)

    def forward(self, inputA, inputB):
        featureA = self.l2norm(self.extractionA(inputA))
        featureB = self.l2norm(self.extractionB(inputB))
        theta = self.regression(self.correlation(featureA, featureB))
        identity = theta.new_tensor([1, 0, 0, 0, 1, 0])
        grid = F.affine_grid((identity + 0.5 * theta).view(-1, 2, 3), inputB.size(), align_corners=False)
        return grid, theta


torch.manual_seed(0)
train_loader = DataLoader(CPDataset(), batch_size=4, shuffle=True)
model = GMM()
model.train()
criterionL1 = nn.L1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.0001, betas=(0.5, 0.999))
for step, inputs in enumerate(train_loader):
    grid, theta = model(inputs['agnostic'], inputs['cloth'])
    warped_cloth = F.grid_sample(inputs['cloth'], grid, padding_mode='border', align_corners=False)
    loss = criterionL1(warped_cloth, inputs['parse_cloth'])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print('step: %8d, loss: %4f' % (step + 1, loss.item()))
