"""A service that starts about every second time, whatever its settings are.

A real one would depend on the weather of the machine. Here the outcome of each launch stands in `outcomes.txt` (R ready, F
fails), so that everybody sees the same run: the N-th launch takes the N-th letter.
"""

import argparse
import pathlib

OUTCOMES = pathlib.Path(__file__).with_name("outcomes.txt")


def main():
    """Ends as the sequence says for this launch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", type=int, required=True, help="the number of this launch, from 1")
    parser.add_argument("--retries", type=int, default=0, help="a setting that has nothing to do with it")
    options = parser.parse_args()
    outcomes = OUTCOMES.read_text().split()[0]
    if outcomes[(options.launch - 1) % len(outcomes)] == "F":
        raise ConnectionError("the peer did not answer")
    print("started")


if __name__ == "__main__":
    main()
