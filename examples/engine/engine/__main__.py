"""Entry point of `python3 -m engine`. Ranks import `engine.rank` instead and never run this."""

import sys

from engine.launch import launch
from engine.server_args import parse_args

if __name__ == "__main__":
    sys.exit(launch(*parse_args(sys.argv[1:])))
