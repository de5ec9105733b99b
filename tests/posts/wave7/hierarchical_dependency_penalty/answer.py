import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

hierarchy = {0: [0, 1, 2], 1: [3, 4], 2: [5, 6, 7], 3: [8, 9]}


class HierarchicalNet(nn.Module):
    def __init__(self, num_super=4, num_sub=10):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.level_1 = nn.Linear(64, num_super)
        self.level_2 = nn.Linear(64 + num_super, num_sub)

    def forward(self, x):
        features = self.backbone(x)
        level_1 = self.level_1(features)
        level_2 = self.level_2(torch.cat([features, level_1], dim=1))
        return level_1, level_2


class HierarchicalLossNetwork:
    def __init__(self, alpha=1, beta=0.8, p_loss=3, device='cpu'):
        self.alpha = alpha
        self.beta = beta
        self.p_loss = p_loss
        self.device = device
        self.criterion = nn.CrossEntropyLoss()

    def check_hierarchy(self, current_level, previous_level):
        belongs = torch.zeros(previous_level.size(1), current_level.size(1), device=self.device)
        for parent, children in hierarchy.items():
            belongs[parent, children] = 1
        return 1 - ((previous_level @ belongs) * current_level).sum(dim=1)

    def calculate_lloss(self, predictions, true_labels):
        lloss = 0
        for level in range(len(predictions)):
            lloss += self.criterion(predictions[level], true_labels[level])
        return self.alpha * lloss

    def calculate_dloss(self, predictions, true_labels):
        previous_level, current_level = predictions
        prev_prob = nn.Softmax(dim=1)(previous_level)
        current_prob = nn.Softmax(dim=1)(current_level)
        D_l = self.check_hierarchy(current_prob, prev_prob)
        dloss = torch.mean(torch.pow(self.p_loss, D_l) - 1)
        return self.beta * dloss


if __name__ == '__main__':
    torch.manual_seed(0)
    sub = torch.randint(0, 10, (256,))
    sup = torch.tensor([k for s in range(10) for k, v in hierarchy.items() if s in v])[sub]
    images = torch.randn(256, 3, 32, 32) + sub.view(-1, 1, 1, 1) * 0.1
    loader = DataLoader(TensorDataset(images, sup, sub), batch_size=64, shuffle=True)

    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    model = HierarchicalNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    HLN = HierarchicalLossNetwork(device=device)

    for epoch_idx in range(4):
        epoch_loss, epoch_dloss = [], []
        for batch_x, batch_y1, batch_y2 in loader:
            batch_x = batch_x.to(device)
            batch_y1, batch_y2 = batch_y1.to(device), batch_y2.to(device)
            optimizer.zero_grad()
            prediction = model(batch_x)
            dloss = HLN.calculate_dloss(prediction, [batch_y1, batch_y2])
            lloss = HLN.calculate_lloss(prediction, [batch_y1, batch_y2])
            total_loss = lloss + dloss
            total_loss.backward()
            optimizer.step()
            epoch_loss.append(total_loss.item())
            epoch_dloss.append(dloss.item())
        print(f'epoch {epoch_idx} loss {sum(epoch_loss) / len(epoch_loss):.4f} '
              f'dependency {sum(epoch_dloss) / len(epoch_dloss):.4f}')
