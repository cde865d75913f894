"""What the end-to-end tests are written with: the node as a process, and a client that waits for facts.

Nothing here sleeps for a fixed time: every wait ends as soon as what is waited for has happened, and fails with a
message that says what has not.
"""

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

ROOT = Path(__file__).resolve().parents[2]
# Descriptions of our own arms.
URDF_FOLDER = ROOT / "urdf"
# How long a wait may take before the test fails. Generous: the machine may be busy with a build.
PATIENCE = 20.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


def parameter_yaml(parameters):
    """Text of a parameter file for every node. JSON is YAML, but a float without a point would become an integer."""

    def value(item):
        if isinstance(item, float):
            text = repr(item)
            return {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}.get(text, text)
        if isinstance(item, (list, tuple)):
            return "[" + ", ".join(value(part) for part in item) + "]"
        return json.dumps(item, ensure_ascii=False)

    lines = "".join(f"    {name}: {value(item)}\n" for name, item in parameters.items())
    return "/**:\n  ros__parameters:\n" + (lines or "    {}\n")


class NodeProcess:
    """One run of arm_planner_node."""

    def __init__(self, program, parameters, *, name="arm_planner", namespace="", environment=None, file=None, remap=()):
        self.full_name = f"{namespace.rstrip('/')}/{name}" if namespace else f"/{name}"
        self._folder = tempfile.TemporaryDirectory(prefix="arm_planner_test_")
        folder = Path(self._folder.name)
        self._log = folder / "log"
        arguments = [str(program), "--ros-args", "-r", f"__node:={name}"]
        if namespace:
            arguments += ["-r", f"__ns:={namespace}"]
        for topic, other in dict(remap).items():
            arguments += ["-r", f"{topic}:={other}"]
        if file:
            arguments += ["--params-file", str(file)]
        if parameters:
            own = folder / "parameters.yaml"
            own.write_text(parameter_yaml(parameters))
            arguments += ["--params-file", str(own)]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "RUST_BACKTRACE": "1", "ROS_LOG_DIR": str(folder), **(environment or {})},
            )

    def log(self):
        """Everything that the node has printed so far."""
        return self._log.read_text(errors="replace")

    def wait_for_log(self, client, text):
        """Wait until the node has printed the text: it may offer a service a moment before it says so."""
        client.wait_until(lambda: text in self.log(), f"{text!r} in the log")

    def topic(self, name):
        """Full name of a topic or service of the node itself."""
        return f"{self.full_name}/{name}"

    def alive(self):
        return self.process.poll() is None

    def wait_until_ready(self, client, service, timeout):
        """Wait until the node offers the service."""
        wanted = self.topic(service)

        def offered():
            assert self.alive(), f"the node ended with {self.process.returncode} before it was ready:\n{self.log()}"
            return any(name == wanted for name, _ in client.node.get_service_names_and_types())

        client.wait_until(offered, f"service {wanted}", timeout)

    def wait_for_exit(self, timeout=PATIENCE):
        """Wait for the node to end by itself; returns its exit code."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the node still runs after {timeout} s:\n{self.log()}") from None

    def stop(self, with_signal=signal.SIGINT, timeout=10.0, accept_ended=False):
        """End the node by a signal and check that it ended well, and that nothing in it has panicked.

        A node that has ended by itself is an error, unless that is accepted.
        """
        if not self.alive():
            assert accept_ended, f"the node has ended by itself with {self.process.returncode}:\n{self.log()}"
        else:
            self.process.send_signal(with_signal)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the node did not end within {timeout} s of {with_signal.name}") from None
            assert self.process.returncode == 0, f"the node ended with {self.process.returncode} on {with_signal.name}"
        assert "panicked at" not in self.log(), "the node panicked"

    def clean_up(self):
        if self.alive():
            self.process.kill()
            self.process.wait()
        self._folder.cleanup()


class Client:
    """A ROS node that calls services, publishes and listens; callbacks run only inside its waits."""

    def __init__(self):
        self.node = rclpy.create_node("arm_planner_test_client", enable_rosout=False, start_parameter_services=False)
        self._clients = {}
        self._publishers = {}

    def close(self):
        self.node.destroy_node()

    def wait_until(self, condition, what, timeout=PATIENCE):
        """Take in messages until the condition holds; returns what it returned."""
        deadline = time.monotonic() + timeout
        while True:
            answer = condition()
            if answer:
                return answer
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {timeout} s in vain for {what}")
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def call(self, service_type, name, request, timeout=PATIENCE):
        """Call a service and return its answer."""
        future = self.call_async(service_type, name, request)
        self.wait_until(future.done, f"an answer of {name}", timeout)
        return future.result()

    def call_async(self, service_type, name, request):
        """Call a service; returns a future, done once a wait has taken in the answer."""
        key = (service_type, name)
        if key not in self._clients:
            self._clients[key] = self.node.create_client(service_type, name)
        client = self._clients[key]
        self.wait_until(client.service_is_ready, f"service {name}")
        return client.call_async(request)

    def publisher(self, message_type, name, qos=10, readers=1):
        """A publisher, once that many subscribers are matched: what is then published is not lost."""
        key = (message_type, name)
        if key not in self._publishers:
            self._publishers[key] = self.node.create_publisher(message_type, name, qos)
        publisher = self._publishers[key]
        self.wait_until(lambda: publisher.get_subscription_count() >= readers, f"{readers} subscriber(s) of {name}")
        return publisher

    def publish(self, message_type, name, message, qos=10):
        """Publish one message to a topic that the node reads."""
        self.publisher(message_type, name, qos).publish(message)

    def publish_latched(self, message_type, name, message):
        """Publish a message that later subscribers get too; does not wait for any."""
        self.publisher(message_type, name, LATCHED, readers=0).publish(message)

    def listen(self, message_type, name, qos=10):
        """Start to keep all messages of a topic; returns the growing record of them, once the publisher is matched."""
        record = Record(self, name)
        record.subscription = self.node.create_subscription(message_type, name, record.messages.append, qos)
        return record


class Record:
    """Messages of one topic in the order in which they came."""

    def __init__(self, client, name):
        self._client = client
        self.name = name
        self.messages = []
        self.subscription = None

    def wait_for_publisher(self, timeout=PATIENCE):
        """Wait until somebody publishes the topic; what is sent from then on is not lost."""
        node = self._client.node
        self._client.wait_until(lambda: node.count_publishers(self.name) > 0, f"a publisher of {self.name}", timeout)
        return self

    def wait_for(self, predicate=lambda message: True, what="a message", start=0, timeout=PATIENCE):
        """Return the first message from number `start` on that the predicate holds for."""
        seen = start

        def found():
            nonlocal seen
            while seen < len(self.messages):
                message = self.messages[seen]
                seen += 1
                if predicate(message):
                    return [message]
            return None

        try:
            return self._client.wait_until(found, f"{what} on {self.name}", timeout)[0]
        except AssertionError as problem:
            last = f"; the last of {len(self.messages)}: {self.messages[-1]}" if self.messages else "; there was none"
            raise AssertionError(f"{problem}{last}") from None
