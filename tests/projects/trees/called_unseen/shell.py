import importlib
import sys

from steps import train


def main():
    made = importlib.import_module(sys.argv[1])
    train(made.model(), made.loader(), made.criterion(), int(sys.argv[2]))
