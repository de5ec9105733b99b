"""Digits, by hydra: a folder of settings, overrides, a folder for what is written."""

import logging
from pathlib import Path

import hydra
import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger(__name__)


class Digits(nn.Module):
    def __init__(self, width: int, depth: int, classes: int):
        super().__init__()
        self.first = nn.Linear(64, width)
        self.middle = nn.Sequential(*[nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.middle(self.first(x.flatten(1)).relu()))


@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(config: DictConfig) -> float:
    log.info(OmegaConf.to_yaml(config))
    torch.manual_seed(config.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images, labels = torch.randn(1003, 8, 8), torch.randint(0, 10, (1003,))
    loader = DataLoader(TensorDataset(images, labels), config.batch_size, shuffle=True)
    model = Digits(**config.model).to(device)
    optimizer = hydra.utils.get_class(config.optimizer.name)(
        model.parameters(), **config.optimizer.settings
    )
    written = Path(HydraConfig.get().runtime.output_dir)
    for epoch in range(config.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        log.info("epoch %d: %.3f", epoch, loss.item())
        torch.save(model.state_dict(), written / f"epoch-{epoch}.pt")
    torch.save({"model": model.state_dict()}, "last.pt")
    model.load_state_dict(torch.load("last.pt")["model"])
    weights = model.head.weight.detach()
    settings = torch.tensor(OmegaConf.to_container(config.weights), device=device)
    return float((weights * settings[:, None]).sum())


if __name__ == "__main__":
    main()
