import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

# hyperparameters
device = "cuda" if torch.cuda.is_available() else "cpu"
input_size = 28
hidden_size = 64
num_layers = 2
num_classes = 10
batch_size = 64
num_epochs = 2
learning_rate = 1e-3

train_x = torch.rand(640, 1, 28, 28)
train_y = torch.randint(0, num_classes, (640,))
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=batch_size, shuffle=True)


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, num_classes):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.gru = nn.GRU(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size).to(device)
        out, _ = self.gru(x, h0)
        return self.fc(out[:, -1, :])


model = RNN(input_size, hidden_size, num_layers, num_classes).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

for epoch in range(num_epochs):
    for i, (images, labels) in enumerate(train_loader):
        images = images.reshape(-1, 28, input_size).to(device)
        labels = labels.to(device)

        outputs = model(images)
        loss = criterion(outputs, labels)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Epoch [{epoch + 1}/{num_epochs}], Loss: {loss.item():.4f}")
