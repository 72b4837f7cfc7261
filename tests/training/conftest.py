"""What tests of training share."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    """Give torch its threads back after a test: a run takes one."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
