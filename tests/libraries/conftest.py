"""What all tests of this folder want of Torch."""

import torch

torch.set_num_threads(1)  # the networks are small, and other tests need the cores
