"""How the comparison is run: quietly, on one thread, without the network."""

import os
import sys
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

import torch  # noqa: E402  after the environment is set

torch.set_num_threads(1)


def pytest_terminal_summary(terminalreporter):
    counted = sys.modules["test_families"].COUNTED
    terminalreporter.write_line(f"{counted['model_types']} model_types, {counted['cases']} cases")
