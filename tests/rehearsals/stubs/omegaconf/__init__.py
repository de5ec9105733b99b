"""Stands for omegaconf: a dictionary whose keys are also attributes."""


class DictConfig(dict):
    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(name)
        return self[name]
