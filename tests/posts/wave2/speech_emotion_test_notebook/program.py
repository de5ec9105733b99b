import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

emotions_dict = {0: 'surprised', 1: 'neutral', 2: 'calm', 3: 'happy', 4: 'sad', 5: 'angry', 6: 'fearful', 7: 'disgust'}
device = 'cuda' if torch.cuda.is_available() else 'cpu'


class ParallelNet(nn.Module):
    def __init__(self, num_emotions):
        super().__init__()
        self.transf_maxpool = nn.MaxPool2d(kernel_size=[2, 4], stride=[2, 4])
        layer = nn.TransformerEncoderLayer(d_model=40, nhead=4, dim_feedforward=128, dropout=0.4)
        self.transformer_encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.conv2Dblock = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Dropout(0.3),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(4, 4), nn.Dropout(0.3))
        self.fc1_linear = nn.Linear(32 * 10 * 35 + 40, num_emotions)

    def forward(self, x):
        conv_embedding = torch.flatten(self.conv2Dblock(x), start_dim=1)
        x_reduced = torch.squeeze(self.transf_maxpool(x), 1).permute(2, 0, 1)
        transformer_embedding = torch.mean(self.transformer_encoder(x_reduced), dim=0)
        complete = torch.cat([conv_embedding, transformer_embedding], dim=1)
        logits = self.fc1_linear(complete)
        return logits, torch.softmax(logits, dim=1)


def make_validate_fnc(model, loss_fnc):
    def validate(X, Y):
        with torch.no_grad():
            model.eval()
            logits, softmax = model(X)
            predictions = torch.argmax(softmax, dim=1)
            accuracy = torch.sum(Y == predictions) / float(len(Y))
            loss = loss_fnc(logits, Y)
        return loss.item(), accuracy * 100, predictions
    return validate


# train: one pass over the MFCC windows, then save
X_train, y_train = torch.randn(24, 1, 80, 282), torch.randint(0, 8, (24,))
model = ParallelNet(len(emotions_dict)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.8, weight_decay=1e-3)
for X, Y in DataLoader(TensorDataset(X_train, y_train), batch_size=8, shuffle=True):
    logits, _ = model(X.to(device))
    loss = nn.functional.cross_entropy(logits, Y.to(device))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print('iteration loss', loss.item())
torch.save({'model': model.state_dict(), 'epoch': 0}, 'checkpoint-000.pkl')

# test: load the weights into a new model
model = ParallelNet(num_emotions=len(emotions_dict))
model.load_state_dict(torch.load('checkpoint-000.pkl')['model'])
validate = make_validate_fnc(model, nn.functional.cross_entropy)

X_test, y_test = torch.randn(12, 1, 80, 282), torch.randint(0, 8, (12,))
X_test_tensor = X_test.float().to(device)
y_test_tensor = y_test.long().to(device)
test_loss, test_acc, predicted = validate(X_test_tensor, y_test_tensor)
print(f'Test accuracy is {test_acc:.2f}%')
