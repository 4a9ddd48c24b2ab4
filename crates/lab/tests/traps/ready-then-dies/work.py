"""A client that takes its time and does not mind."""

import time

time.sleep(600)
