import argparse
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class OmicSurvival(Dataset):
    def __init__(self, n, genes=80, seed=0):
        rng = np.random.RandomState(seed)
        self.X_omic = rng.randn(n, genes).astype(np.float32)
        risk = self.X_omic[:, :5].sum(axis=1)
        self.t = rng.exponential(np.exp(-0.5 * risk)).astype(np.float32)
        self.e = (rng.rand(n) < 0.7).astype(np.float32)

    def __len__(self):
        return len(self.e)

    def __getitem__(self, i):
        return torch.from_numpy(self.X_omic[i]), torch.tensor(self.e[i]), torch.tensor(self.t[i])


class MaxNet(nn.Module):
    def __init__(self, input_dim=80, omic_dim=32, dropout_rate=0.25):
        super(MaxNet, self).__init__()
        dims = [input_dim, 64, 48, omic_dim]
        self.encoder = nn.Sequential(*[nn.Sequential(nn.Linear(a, b), nn.ELU(), nn.AlphaDropout(p=dropout_rate))
                                       for a, b in zip(dims[:-1], dims[1:])])
        self.classifier = nn.Linear(omic_dim, 1)

    def forward(self, x_omic):
        features = self.encoder(x_omic)
        return features, self.classifier(features)


def CoxLoss(survtime, censor, hazard_pred):
    R_mat = (survtime[None, :] >= survtime[:, None]).float()
    theta = hazard_pred.reshape(-1)
    return -torch.mean((theta - torch.log(torch.sum(theta.exp() * R_mat, dim=1))) * censor)


def regularize_weights(model):
    return sum(w.abs().sum() for w in model.parameters())


def c_index(hazards, events, times):
    i, j = np.meshgrid(np.arange(len(times)), np.arange(len(times)), indexing='ij')
    comparable = (times[i] < times[j]) & (events[i] > 0)
    return float((hazards[i] > hazards[j])[comparable].mean())


def evaluate(model, loader, lambda_reg):
    model.eval()
    loss_test, risk, events, times = 0.0, [], [], []
    with torch.no_grad():
        for x_omic, censor, survtime in loader:
            _, pred = model(x_omic)
            loss = CoxLoss(survtime, censor, pred) + lambda_reg * regularize_weights(model)
            loss_test += loss.data.item()
            risk.append(pred.reshape(-1)), events.append(censor), times.append(survtime)
    loss_test /= len(loader.dataset)
    return loss_test, c_index(*(torch.cat(v).numpy() for v in (risk, events, times)))


def train(opt):
    torch.manual_seed(2019)
    model = MaxNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr, betas=(0.9, 0.999), weight_decay=4e-4)
    train_loader = DataLoader(OmicSurvival(200), batch_size=opt.batch_size, shuffle=True)
    test_loader = DataLoader(OmicSurvival(72, seed=1), batch_size=opt.batch_size)
    for epoch in range(opt.niter):
        model.train()
        loss_epoch = 0
        for x_omic, censor, survtime in train_loader:
            _, pred = model(x_omic)
            loss = CoxLoss(survtime, censor, pred) + opt.lambda_reg * regularize_weights(model)
            loss_epoch += loss.data.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss_epoch /= len(train_loader.dataset)
        print('[Train] loss %.4f [Test] loss %.4f c-index %.3f' % ((loss_epoch,) + evaluate(model, test_loader, opt.lambda_reg)))


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    for flag, default in (('--niter', 4), ('--batch_size', 64), ('--lr', 2e-3), ('--lambda_reg', 3e-4)):
        parser.add_argument(flag, type=type(default), default=default)
    train(parser.parse_args())
