import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

# hyper parameters
sequence_length = 28
input_size = 28
hidden_size = 48
num_layers = 2
num_classes = 10
batch_size = 64
num_epochs = 3
learning_rate = 0.003

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class BiRNN(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, num_classes):
        super(BiRNN, self).__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.gru = nn.GRU(
            input_size, hidden_size, num_layers, batch_first=True, bidirectional=True
        )
        self.fc = nn.Linear(hidden_size * 2, num_classes)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers * 2, x.size(0), self.hidden_size).to(device)
        out, _ = self.gru(x, h0)
        last = torch.cat(
            [out[:, -1, :self.hidden_size], out[:, 0, self.hidden_size:]], dim=1
        )
        out = self.fc(last)
        return out


torch.manual_seed(0)
digits = torch.randint(0, num_classes, (768,))
images = torch.rand(768, 1, sequence_length, input_size) * 0.5
for i, d in enumerate(digits.tolist()):
    images[i, 0, 2:5, 2 * d:2 * d + 4] += 0.5
train_loader = DataLoader(
    TensorDataset(images[:640], digits[:640]), batch_size=batch_size, shuffle=True
)
test_loader = DataLoader(TensorDataset(images[640:], digits[640:]), batch_size=batch_size)

model = BiRNN(input_size, hidden_size, num_layers, num_classes).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

total_step = len(train_loader)
for epoch in range(num_epochs):
    model.train()
    for i, (batch, labels) in enumerate(train_loader):
        batch = batch.reshape(-1, sequence_length, input_size).to(device)
        labels = labels.to(device)
        outputs = model(batch)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (i + 1) % 5 == 0:
            print(f"Epoch [{epoch + 1}/{num_epochs}], Step [{i + 1}/{total_step}], "
                  f"Loss: {loss.item():.4f}")

model.eval()
with torch.no_grad():
    correct = 0
    total = 0
    for batch, labels in test_loader:
        batch = batch.reshape(-1, sequence_length, input_size).to(device)
        _, predicted = torch.max(model(batch), 1)
        total += labels.size(0)
        correct += (predicted == labels.to(device)).sum().item()
    print(f"Test accuracy on {total} images: {100 * correct / total:.2f} %")
