#!/usr/bin/env python3
"""Sends completions to a running engine, one after another, and prints one line of results.

`time_per_token_ms` is the time of all measured requests over the tokens that they generated, so the
prefill of each is in it. The first request warms up and is not measured. Exits with 1 on any error.
"""

import argparse
import http.client
import json
import sys
import time

PROMPT = "Hi"


def complete(connection, max_tokens):
    """Sends one completion and returns the count of generated tokens; raises on any error."""
    body = json.dumps({"prompt": PROMPT, "max_tokens": max_tokens, "temperature": 0})
    connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != 200:
        raise RuntimeError(f"HTTP {response.status}: {answer.decode(errors='replace')}")
    return json.loads(answer)["usage"]["completion_tokens"]


def main():
    """Runs the benchmark and returns the exit code."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--requests", type=int, default=4, help="measured requests")
    p.add_argument("--max-tokens", type=int, default=6, help="tokens of each")
    p.add_argument("--timeout", type=float, default=30, help="seconds that one answer may take")
    args = p.parse_args()
    if args.requests < 1 or args.max_tokens < 1:
        p.error("--requests and --max-tokens must be at least 1")

    connection = http.client.HTTPConnection(args.host, args.port, timeout=args.timeout)
    tokens, requests, errors, seconds = 0, 0, 0, 0.0
    for number in range(args.requests + 1):
        start = time.perf_counter()
        try:
            count = complete(connection, 1 if number == 0 else args.max_tokens)
        except (OSError, http.client.HTTPException, RuntimeError, ValueError, KeyError) as error:
            print(f"request {number}: {error!r}", file=sys.stderr)
            connection.close()
            errors += 1
            continue
        if number > 0:
            seconds += time.perf_counter() - start
            tokens += count
            requests += 1
    per_token = f"{seconds / tokens * 1000:.3f}" if tokens else "nan"
    print(f"time_per_token_ms={per_token} tokens={tokens} requests={requests} errors={errors}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
