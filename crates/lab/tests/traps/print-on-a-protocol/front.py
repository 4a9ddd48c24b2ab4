"""A front end that takes every line of its worker for an answer."""

import json
import subprocess
import sys

worker = subprocess.run([sys.executable, "engine.py"], stdout=subprocess.PIPE, check=True)
answers = [json.loads(line) for line in worker.stdout.splitlines()]
print(f"answers={len(answers)} value={answers[0]['value']}")
