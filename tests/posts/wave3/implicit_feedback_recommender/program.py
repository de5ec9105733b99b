import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2023)
USERS, ITEMS = 120, 200


class NeuralMF(nn.Module):
    def __init__(self, factors=16, layers=(32, 16), epochs=6, lr=0.01, reg=1e-5):
        super(NeuralMF, self).__init__()
        self.epochs, self.lr, self.reg = epochs, lr, reg
        self.user_gmf = nn.Embedding(USERS, factors)
        self.item_gmf = nn.Embedding(ITEMS, factors)
        self.user_mlp = nn.Embedding(USERS, factors)
        self.item_mlp = nn.Embedding(ITEMS, factors)
        mlp, last = [], 2 * factors
        for width in layers:
            mlp += [nn.Linear(last, width), nn.ReLU()]
            last = width
        self.mlp = nn.Sequential(*mlp)
        self.predict_layer = nn.Linear(last + factors, 1)
        for m in self.modules():
            if isinstance(m, nn.Embedding):
                nn.init.normal_(m.weight, std=0.1)

    def forward(self, user, item):
        gmf = self.user_gmf(user) * self.item_gmf(item)
        mlp = self.mlp(torch.cat((self.user_mlp(user), self.item_mlp(item)), dim=-1))
        prediction = self.predict_layer(torch.cat((gmf, mlp), dim=-1))
        return torch.sigmoid(prediction).view(-1)

    def fit(self, train_loader):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.lr, weight_decay=self.reg)
        criterion = nn.BCEWithLogitsLoss(reduction='mean')
        for epoch in range(1, self.epochs + 1):
            self.train()
            current_loss = 0.0
            for user, item, label in train_loader:
                self.zero_grad()
                prediction = self.forward(user, item)
                loss = criterion(prediction, label)
                loss.backward()
                optimizer.step()
                current_loss += loss.item()
            print('[Epoch %d] loss %.4f' % (epoch, current_loss / len(train_loader)))


taste_u, taste_i = torch.randn(USERS, 3), torch.randn(ITEMS, 3)
user = torch.randint(0, USERS, (4000,))
item = torch.randint(0, ITEMS, (4000,))
label = ((taste_u[user] * taste_i[item]).sum(1) > 0.5).float()
loader = DataLoader(TensorDataset(user, item, label), batch_size=256, shuffle=True)
model = NeuralMF()
model.fit(loader)
