from .base import BaseTrainer
from .mixins import *
