import torch
import torch.nn as nn
import torch.optim as optim

# Generate synthetic data: the target is the sum of the sequence
torch.manual_seed(42)
seq_length = 10
num_samples = 128
X = torch.rand(num_samples, seq_length, 1)
y = torch.sum(X, dim=1)


class TransformerModel(nn.Module):
    def __init__(self, input_dim, embed_dim, num_heads, num_layers, ff_dim, output_dim):
        super(TransformerModel, self).__init__()
        self.embedding = nn.Linear(input_dim, embed_dim)
        self.transformer = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(embed_dim, num_heads, ff_dim, batch_first=True),
            num_layers
        )
        self.output = nn.Linear(embed_dim, output_dim)

    def forward(self, x):
        x = self.embedding(x)
        x = self.transformer(x)
        x = x[:, -1]
        return self.output(x)


# Initialize the model, loss function, and optimizer
model = TransformerModel(input_dim=1, embed_dim=16, num_heads=2, num_layers=2, ff_dim=64, output_dim=1)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.002)

# Train the model
epochs = 150
for epoch in range(epochs):
    optimizer.zero_grad()
    predictions = model(X)
    loss = criterion(predictions, y)
    loss.backward()
    optimizer.step()
    if (epoch + 1) % 50 == 0:
        print(f"Epoch [{epoch + 1}/{epochs}], Loss: {loss.item():.4f}")

# Test the model on new data
X_test = torch.rand(3, seq_length, 1)
model.eval()
with torch.no_grad():
    predictions = model(X_test)
    print("Predictions:", [round(p, 3) for p in predictions.squeeze(1).tolist()])
    print("Targets:    ", [round(t, 3) for t in X_test.sum(dim=1).squeeze(1).tolist()])
