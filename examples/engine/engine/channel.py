"""Messages between processes over sockets: whole objects, or an exact number of bytes."""

import pickle

LENGTH_BYTES = 4


class PeerGone(ConnectionError):
    """The process at the other end has closed its socket or died."""


def recv_exactly(sock, nbytes):
    """Waits for exactly `nbytes`; raises PeerGone at the end of the stream."""
    data = sock.recv(nbytes)
    while len(data) < nbytes:
        if not data:
            raise PeerGone("the other end closed its socket")
        more = sock.recv(nbytes - len(data))
        if not more:
            raise PeerGone("the other end closed its socket in the middle of a message")
        data += more
    return data


def send_object(sock, value):
    """Sends one object, pickled, with its length in front."""
    data = pickle.dumps(value)
    sock.sendall(len(data).to_bytes(LENGTH_BYTES, "big") + data)


def recv_object(sock):
    """Waits for one object."""
    length = int.from_bytes(recv_exactly(sock, LENGTH_BYTES), "big")
    return pickle.loads(recv_exactly(sock, length))
