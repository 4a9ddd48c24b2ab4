"""Eight tellers book deposits on one account, without a lock: a race that almost never shows.

Between reading the balance and writing it back the interpreter has no reason to let another teller in: nothing there
waits, and the switch interval is long. Whatever waits there, such as a print into a pipe, lets the other one in, and its
deposit is lost.
"""

import os
import sys
import threading

TELLERS = 8
DEPOSITS = 500


class Account:
    """An account whose balance is the sum of its deposits, if none is lost."""

    def __init__(self):
        self.balance = 0

    @property
    def statement(self):
        """The balance as a line of text, which is also put into a journal: looking at it is work."""
        line = f"balance {self.balance}\n"
        with open(os.devnull, "w") as journal:
            journal.write(line)
        return line


def deposit(account, amount):
    """Adds an amount; the two lines are meant to be one step, and are not."""
    before = account.balance
    account.balance = before + amount


def teller(account, doors):
    """Books all deposits of one teller, once every teller is there."""
    doors.wait()
    for _ in range(DEPOSITS):
        deposit(account, 1)


def main():
    """Lets the tellers work, and stops with an error where deposits are missing."""
    sys.setswitchinterval(60)
    account = Account()
    doors = threading.Barrier(TELLERS)
    tellers = [threading.Thread(target=teller, args=(account, doors)) for _ in range(TELLERS)]
    for one in tellers:
        one.start()
    for one in tellers:
        one.join()
    expected = TELLERS * DEPOSITS
    if account.balance != expected:
        raise RuntimeError(f"{expected - account.balance} of {expected} deposits are lost")
    print(f"all {expected} deposits are booked")


if __name__ == "__main__":
    main()
