"""Stands for matplotlib: draws nothing."""


def use(backend, **options):
    return None
