"""A one-node Apache Kafka (KRaft) on 127.0.0.1 for development and tests. Standard library only.

The jars come from Maven by ``pom.xml``, once, into a cache; the broker is then plain ``java -cp``.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from process import StackError, end, exchange, find_program, free_port, is_running, spawn, wait_ready

_HERE = Path(__file__).resolve().parent
_POM = _HERE / "pom.xml"
_OLDEST_JAVA = 17
_CLUSTER_ID = "aGVhZHJhY2UtbG9jYWwtMQ"

# The broker serves a handful of topics for a few clients: a small heap and the quickest compiler.
_JVM_OPTIONS = ("-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    # One node: every internal topic has one replica, and few partitions to open at start.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # Topics are made by `headrace topics apply`; a misspelt name should fail, as it does in production.
    "auto.create.topics.enable": "false",
    # Quick rebalances, and quick recovery after a crash: a broker is known dead, and a transaction that timed
    # out is aborted, within seconds.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "16777216",
}


def kafka_jars() -> Path:
    """The folder of the broker's jars, fetched by Maven on first use; raises StackError."""
    pom = _POM.read_bytes()
    version = re.search(rb"<kafka\.version>([^<]+)<", pom)
    if version is None:
        raise StackError(f"{_POM} names no kafka.version")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"
    jars = cache / f"kafka-{version[1].decode()}-{hashlib.sha256(pom).hexdigest()[:8]}"
    if jars.is_dir():
        return jars
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jars.is_dir():
            _fetch(jars)
    return jars


def _fetch(jars: Path) -> None:
    maven = find_program("mvn", "maven")
    with tempfile.TemporaryDirectory(dir=jars.parent) as folder:
        command = [maven, "-B", "-q", "-f", str(_POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        done = subprocess.run([*command, f"-DoutputDirectory={folder}/jars"], capture_output=True, text=True)
        if done.returncode:
            shown = (done.stdout + done.stderr).strip()[-2000:]
            raise StackError(f"Maven could not fetch Kafka; is Maven Central reachable?\n{shown}")
        # Renamed when complete: a half-fetched folder is never mistaken for the broker.
        Path(folder, "jars").rename(jars)


def find_java() -> str:
    """A java of at least version 17, from JAVA_HOME or PATH; raises StackError."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else find_program("java", "default-jre-headless")
    shown = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(\d+)', shown)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        raise StackError(
            f"{java} is not Java {_OLDEST_JAVA} or newer: {shown.strip()}\n"
            "Fix: apt-get install -y default-jre-headless, or set JAVA_HOME"
        )
    return java


class KafkaBroker:
    """One broker that is its own controller. Data outlives a stop or a kill until ``wipe``."""

    def __init__(
        self,
        folder: Path,
        *,
        port: int = 0,
        controller_port: int = 0,
        pid: int = 0,
        owned: bool = True,
        settings: dict[str, str] | None = None,
    ) -> None:
        """folder: where data and log live; pid: a broker already running there; owned: dies with this process.

        settings: broker settings (server.properties) over this module's own.
        """
        self.folder = folder
        self.port = port or free_port()
        self.controller_port = controller_port or free_port(besides=self.port)
        self.pid = pid
        self.owned = owned
        self.log = folder / "kafka.log"
        self._settings = settings or {}

    @property
    def bootstrap_servers(self) -> str:
        """What ``KAFKA_BOOTSTRAP_SERVERS`` is set to."""
        return f"127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return bool(self.pid) and is_running(self.pid, str(self._properties))

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self, timeout: float = 60) -> None:
        """Start and wait until the broker leads itself; does nothing when it runs. Raises StackError."""
        if self.running:
            return
        java = [find_java(), *_JVM_OPTIONS, f"-Dlog4j2.configurationFile={_HERE / 'log4j2.xml'}"]
        java += ["-cp", f"{kafka_jars()}/*"]
        self._write_properties()
        if not (self._data / "meta.properties").exists():
            self._format(java)
        self.pid = spawn([*java, "kafka.Kafka", str(self._properties)], self.log, owned=self.owned)
        try:
            wait_ready("Kafka", self.answers, lambda: self.running, self.log, timeout)
        except BaseException:
            # Half a start would leave a process that nobody knows of.
            self.kill()
            raise

    def _write_properties(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        addresses = {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
            "log.dirs": str(self._data),
        }
        settings = {**_SETTINGS, **addresses, **self._settings}
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def _format(self, java: list[str]) -> None:
        command = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._properties)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise StackError(f"Kafka could not format {self._data}:\n{done.stdout}{done.stderr}")

    def move_to_free_port(self) -> None:
        """Take another port when something else listens on this one; does nothing while the server runs."""
        if not self.running:
            self.port = free_port(self.port)
            self.controller_port = free_port(self.controller_port, besides=self.port)

    def answers(self) -> bool:
        """Whether the broker answers a Metadata request and names itself in it, so clients can begin."""
        client = b"stack"
        header = struct.pack(f">hhih{len(client)}s", _METADATA, 1, 7, len(client), client)
        body = header + struct.pack(">i", 0)
        answer = exchange(self.port, struct.pack(">i", len(body)) + body, _METADATA_BROKERS_END)
        if len(answer) < _METADATA_BROKERS_END:
            return False
        (brokers,) = struct.unpack_from(">i", answer, _METADATA_BROKERS_END - 4)
        return bool(brokers > 0)

    def stop(self) -> None:
        """Controlled shutdown."""
        self._end(grace=20)

    def kill(self) -> None:
        """SIGKILL, as a crash would; what was acknowledged is on disk and comes back with ``start``."""
        self._end(grace=0)

    def _end(self, grace: float) -> None:
        if self.pid:
            end(self.pid, str(self._properties), grace=grace)
        self.pid = 0

    def restart(self) -> None:
        """Stop when running, then start on the same port with the same data."""
        self.stop()
        self.start()

    def wipe(self) -> None:
        """Delete the data of a stopped broker."""
        shutil.rmtree(self.folder, ignore_errors=True)


_METADATA = 3
# Response v1: length, correlation id, then the count of brokers.
_METADATA_BROKERS_END = 12
