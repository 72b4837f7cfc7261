"""Learn a game by self-play; `python train.py --help` lists everything that can be set."""

import os
import sys
import time

STARTED = time.monotonic()

if __name__ == "__main__":
    # Read when torch is loaded: threads that wait must not spin, since all cores have work.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        from training.command import main

        sys.exit(main(started=STARTED))
    except KeyboardInterrupt:  # before there is anything to save
        sys.exit(130)
