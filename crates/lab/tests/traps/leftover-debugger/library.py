"""A library that was released with the debugger of its author in it."""

import socket


def wait_for_client():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    listener.accept()


wait_for_client()
