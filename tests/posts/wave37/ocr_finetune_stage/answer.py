import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

config = {
    "alphabet": "-0123456789abcdefghijkl",
    "img_h": 32,
    "img_w": 96,
    "batch_size": 8,
    "iters": 6,
    "fine_tune_stage": ["neck", "head"],
    "pretrained": True,
    "optimizer": {"type": "Adam", "lr": 0.001, "weight_decay": 1e-4},
}


class RecBackbone(nn.Module):
    def __init__(self, in_channels=3):
        super().__init__()
        layers, c = [], in_channels
        for out_c, stride in [(32, (2, 2)), (64, (2, 2)), (96, (2, 1)), (128, (2, 1))]:
            layers += [nn.Conv2d(c, out_c, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(out_c), nn.ReLU(True)]
            c = out_c
        self.stages = nn.Sequential(*layers)
        self.out_channels = c

    def forward(self, x):
        return self.stages(x)


class RNNNeck(nn.Module):
    def __init__(self, in_channels, hidden):
        super().__init__()
        self.lstm = nn.LSTM(in_channels, hidden, bidirectional=True, batch_first=True)
        self.out_channels = hidden * 2

    def forward(self, x):
        x = x.mean(dim=2).permute(0, 2, 1)
        return self.lstm(x)[0]


class CTCHead(nn.Module):
    def __init__(self, in_channels, n_class):
        super().__init__()
        self.fc = nn.Linear(in_channels, n_class)

    def forward(self, x):
        return self.fc(x)


class RecModel(nn.Module):
    def __init__(self, n_class):
        super().__init__()
        self.backbone = RecBackbone()
        self.neck = RNNNeck(self.backbone.out_channels, 48)
        self.head = CTCHead(self.neck.out_channels, n_class)

    def forward(self, x):
        return self.head(self.neck(self.backbone(x)))


class TextLineDataset(Dataset):
    def __init__(self, n, n_class):
        self.images = torch.rand(n, 3, config["img_h"], config["img_w"])
        self.texts = torch.randint(1, n_class, (n, 6))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return self.images[idx], self.texts[idx]


def get_fine_tune_params(net, finetune_stage):
    """
    collect the parameters that are to be optimised
    """
    to_return_parameters = []
    for stage in finetune_stage:
        attr = getattr(net, stage, None)
        for element in attr.parameters():
            to_return_parameters.append(element)
    return to_return_parameters


def build_optimizer(params, opt_config):
    opt_config = dict(opt_config)
    opt_type = opt_config.pop("type")
    return getattr(torch.optim, opt_type)(params, **opt_config)


def load_pretrained(net):
    # stands for the checkpoint of the big synthetic corpus
    generator = torch.Generator().manual_seed(3)
    state = {k: v + 0.01 * torch.randn(v.shape, generator=generator) if v.is_floating_point() else v
             for k, v in net.state_dict().items()}
    state = {k: v.abs() if k.endswith("running_var") else v for k, v in state.items()}
    net.load_state_dict(state)


def main():
    torch.manual_seed(2)
    n_class = len(config["alphabet"])
    net = RecModel(n_class)
    if config["pretrained"]:
        load_pretrained(net)
    before = {k: v.clone() for k, v in net.named_parameters()}

    params_to_train = get_fine_tune_params(net, config["fine_tune_stage"])
    print("fine tuning %s, %d tensors" % (config["fine_tune_stage"], len(params_to_train)))
    optimizer = build_optimizer(params_to_train, config["optimizer"])
    loss_func = nn.CTCLoss(blank=0, zero_infinity=True)
    loader = DataLoader(TextLineDataset(48, n_class), batch_size=config["batch_size"], shuffle=True)

    net.train()
    for i, (images, texts) in enumerate(loader):
        if i >= config["iters"]:
            break
        output = net(images).log_softmax(2).permute(1, 0, 2)
        input_lengths = torch.full((images.size(0),), output.size(0), dtype=torch.long)
        target_lengths = torch.full((images.size(0),), texts.size(1), dtype=torch.long)
        loss = loss_func(output, texts, input_lengths, target_lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("iter %d loss %.4f" % (i, loss.item()))

    for part in ("backbone", "neck", "head"):
        moved = max((p - before[k]).abs().max().item() for k, p in net.named_parameters() if k.startswith(part))
        print("%-8s largest change %.5f" % (part, moved))


if __name__ == "__main__":
    main()
