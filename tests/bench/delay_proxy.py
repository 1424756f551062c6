"""A TCP proxy that holds back every byte for a while, in both directions."""

import queue
import socket
import threading
import time


class DelayProxy:
    """Listens on 127.0.0.1 and forwards to `target`, `one_way_s` late.

    Bytes keep their distances: it adds latency and takes away no bandwidth
    that matters here.
    """

    def __init__(self, target: str, one_way_s: float) -> None:
        host, _, port = target.rpartition(':')
        self._target = (host, int(port))
        self._one_way_s = one_way_s
        self._listener = socket.create_server(('127.0.0.1', 0))
        number = self._listener.getsockname()[1]
        self.address = f'127.0.0.1:{number}'
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._forward(near, far)
            self._forward(far, near)

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        held: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def read() -> None:
            data = b'-'
            while data:
                try:
                    data = source.recv(1 << 20)
                except OSError:
                    data = b''
                held.put((time.monotonic() + self._one_way_s, data))

        def write() -> None:
            while True:
                due, data = held.get()
                time.sleep(max(0.0, due - time.monotonic()))
                try:
                    if not data:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    sink.sendall(data)
                except OSError:
                    return

        for run in (read, write):
            threading.Thread(target=run, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
