"""A benchmark that finds the answers too bad, or waits too long for one."""

import sys
import urllib.request

urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/work", timeout=1).read()
sys.exit("accuracy 0.31 is below the 0.50 that is needed")
