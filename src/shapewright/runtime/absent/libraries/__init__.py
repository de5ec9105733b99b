"""Stand-ins of libraries around a model that are not installed.

Each file is one package: what programs take from it, with the shapes and values that
its documentation states. Where values would come from data, they are zeros.
"""
