"""What all tests share: fixed seeds, hypothesis profiles, threads that do not spin."""

import os

# OpenMP reads this when torch is imported: threads that wait must not keep the other cores busy.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The first example of a test may have to compile kernels, so no example has a deadline. `fast` draws the same examples
# in every run; `pytest --hypothesis-profile=thorough` draws new and many more.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", max_examples=60, derandomize=True, **_PATIENT)
settings.register_profile("thorough", max_examples=2000, **_PATIENT)
settings.load_profile("fast")


@pytest.fixture(autouse=True)
def _fixed_seeds() -> None:
    """Start every test from the same state of the global generators."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the legacy generator, for libraries that still draw from it


@pytest.fixture
def rng() -> np.random.Generator:
    """A numpy generator of fixed seed."""
    return np.random.default_rng(0)
