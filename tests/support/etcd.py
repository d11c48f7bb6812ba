# SPDX-License-Identifier: Apache-2.0
"""etcds on loopback, and a network between them and a client that can be cut."""
import base64
import json
import shutil
import socket
import threading
import urllib.request


def free_addresses(count):
    """["127.0.0.1:PORT"] that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    addresses = ["127.0.0.1:%d" % each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return addresses


class Etcds:
    """A cluster. `start(command)` starts a process, `wait(process, pattern)` waits until its output
    matches, `stop(process)` ends it; `path(name)` is a file of the caller's folder."""

    def __init__(self, count, start, wait, stop, path):
        self.run, self.wait, self.stop, self.path = start, wait, stop, path
        addresses = free_addresses(2 * count)
        self.clients, self.peers = addresses[:count], addresses[count:]
        self.start()

    def start(self):
        self.processes = [
            self.run([
                "etcd", "--name=m%d" % i, "--data-dir=" + self.path("etcd%d" % i),
                "--listen-client-urls=http://" + client, "--advertise-client-urls=http://" + client,
                "--listen-peer-urls=http://" + peer, "--initial-advertise-peer-urls=http://" + peer,
                "--initial-cluster=" + ",".join("m%d=http://%s" % each
                                                for each in enumerate(self.peers))])
            for i, (client, peer) in enumerate(zip(self.clients, self.peers))]
        for process in self.processes:
            self.wait(process, "ready to serve client requests")

    def signal(self, number):
        for process in self.processes:
            process.send_signal(number)

    def call(self, method, **fields):
        request = json.dumps({name: base64.b64encode(text.encode()).decode()
                              for name, text in fields.items()})
        with urllib.request.urlopen("http://%s/v3/kv/%s" % (self.clients[0], method),
                                    request.encode(), timeout=10) as answer:
            return json.load(answer)

    def ask(self, key):
        return self.call("range", key=key)

    def put(self, key, value):
        self.call("put", key=key, value=value)

    def get(self, key):
        """The value of a key, as the first member has it. KeyError: there is none."""
        return base64.b64decode(self.ask(key)["kvs"][0]["value"]).decode()

    def has(self, key):
        return bool(self.ask(key).get("kvs"))

    def destroy(self):
        """Ends them, and their data."""
        for i, process in enumerate(self.processes):
            self.stop(process)
            shutil.rmtree(self.path("etcd%d" % i))


class Proxy:
    """A network on loopback to one address: what is sent to `address` passes, or while the network
    is cut is lost, as between two sides of a partition."""

    def __init__(self, target):
        host, port = target.rsplit(":", 1)
        self.target = host, int(port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.is_cut, self.open = False, set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        with self.lock:
            self.is_cut = True

    def repair(self):
        """Connections of the time before end: what they carried is lost."""
        with self.lock:
            if not self.is_cut:
                return
            self.is_cut, ended, self.open = False, self.open, set()
        for each in ended:
            _shut(each)

    def close(self):
        _shut(self.listener)
        self.listener.close()
        with self.lock:
            ended, self.open = self.open, set()
        for each in ended:
            _shut(each)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.open |= {client, server}
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source, sink):
        try:
            while data := source.recv(65536):
                if not self.is_cut:
                    sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            _shut(each)
        with self.lock:
            self.open.discard(source)
        source.close()


def _shut(each):
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # It has ended by itself.
