import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

device = torch.device('cpu')
BATCH = 64


class RestingStateLSTM(nn.Module):
    """LSTM over ROI time courses, sex classification."""

    def __init__(self, hidden_dim, n_rois):
        super(RestingStateLSTM, self).__init__()
        self.hidden_dim = hidden_dim
        self.lstm = nn.LSTM(n_rois, hidden_dim, num_layers=1, batch_first=True)
        self.linear = nn.Linear(hidden_dim, 1)
        self.dropout = nn.Dropout(p=0.2)
        self.hidden = self.init_hidden()

    def init_hidden(self):
        return (torch.randn(1, BATCH, self.hidden_dim).to(device),
                torch.randn(1, BATCH, self.hidden_dim).to(device))

    def forward(self, x):
        lstm_out, self.hidden = self.lstm(x, self.hidden)
        last = self.dropout(lstm_out[:, -1, :])
        return torch.sigmoid(self.linear(last)).squeeze(1)


def get_loader(n_subjects=192, n_frames=50, n_rois=22):
    rng = np.random.RandomState(0)
    x = rng.randn(n_subjects, n_frames, n_rois).astype(np.float32)
    y = rng.randint(0, 2, n_subjects).astype(np.float32)
    return DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)),
                      batch_size=BATCH, shuffle=True, drop_last=True)


def main():
    loader = get_loader()
    model = RestingStateLSTM(hidden_dim=32, n_rois=22).to(device)
    criterion = nn.BCELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        epoch_loss = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            prob = model(x)
            loss = criterion(prob, y)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print('epoch {} loss {:.4f}'.format(epoch, epoch_loss / len(loader)))


if __name__ == '__main__':
    main()
