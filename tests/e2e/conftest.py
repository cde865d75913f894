"""Fixtures of the end-to-end tests: the built node as a process, and a client beside it, over DDS on the loopback.

The environment variable ARM_PLANNER_NODE names the node's program (default: target/debug/arm_planner_node).
`make test-node` sets everything up.
"""

import contextlib
import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Our own arms: base and tip.
OWN_ARMS = {
    "planar_3r": ("base_link", "tool0"),
    "six_axis": ("base_link", "tool0"),
    "seven_axis": ("panda_link0", "panda_hand_tcp"),
}


def _claim_domain():
    """Take a ROS domain id that nobody on this machine uses; returns it and a lock to be kept while it is used."""
    # Above 101 the ports of DDS can fall into the range from which Linux hands out ports by itself.
    candidates = list(range(1, 102))
    random.shuffle(candidates)
    for domain in candidates:
        lock = open(Path(tempfile.gettempdir()) / f"arm_planner_test_domain_{domain}.lock", "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The discovery port and that of a first participant: taken when a domain is in use.
            with contextlib.ExitStack() as stack:
                for port in (7400 + 250 * domain, 7410 + 250 * domain):
                    stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)).bind(("", port))
            return domain, lock
        except OSError:
            lock.close()
    raise RuntimeError("every ROS domain id from 1 to 101 is in use on this machine")


# Before rclpy is imported by any test module: the middleware reads these once.
DOMAIN, _DOMAIN_LOCK = _claim_domain()
os.environ["ROS_DOMAIN_ID"] = str(DOMAIN)
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ.pop("ROS_LOCALHOST_ONLY", None)
os.environ.pop("ROS_STATIC_PEERS", None)

from arm import Arm  # noqa: E402
from harness import URDF_FOLDER, Client, NodeProcess  # noqa: E402


def pytest_report_header():
    return f"ROS_DOMAIN_ID={DOMAIN} on the loopback, node: {node_program()}"


def node_program():
    return Path(os.environ.get("ARM_PLANNER_NODE", ROOT / "target" / "debug" / "arm_planner_node"))


@pytest.fixture(scope="session", autouse=True)
def _middleware():
    import rclpy

    if not node_program().is_file():
        pytest.exit(f"{node_program()} is missing: run 'make build' first, or set ARM_PLANNER_NODE", returncode=2)
    rclpy.init()
    yield
    rclpy.shutdown()


class Starter:
    """Starts nodes for a test or a module and ends them afterwards."""

    def __init__(self, client):
        self.client = client
        self._started = []

    def node(self, parameters=None, *, ready_service="solve_ik", timeout=30.0, **options):
        """Start the node with the given parameters and wait until its services are there."""
        process = self.process(parameters, **options)
        process.wait_until_ready(self.client, ready_service, timeout)
        return process

    def node_with_file(self, file, parameters, **options):
        """Start the node with a parameter file beside the parameters, which go before it."""
        return self.node(parameters, file=file, **options)

    def process(self, parameters=None, **options):
        """Start the node and wait for nothing."""
        process = NodeProcess(node_program(), parameters or {}, **options)
        self._started.append(process)
        return process

    def arm(self, description, parameters=None, **options):
        """Start the node on one of our own arms, or on the Path of a URDF (then with base_link and tip_link)."""
        parameters = dict(parameters or {})
        if isinstance(description, Path):
            file, base, tip = description, parameters["base_link"], parameters["tip_link"]
        else:
            file = URDF_FOLDER / f"{description}.urdf"
            base, tip = OWN_ARMS[description]
        process = self.node({"urdf_file": str(file), **parameters}, **options)
        topic = {"controller_topic": parameters["controller_topic"]} if "controller_topic" in parameters else {}
        by_topic = parameters.get("controller_interface", "topic") == "topic"
        return Arm(process, self.client, file.read_text(), base, tip, by_topic=by_topic, **topic)

    def finish(self):
        """End every node with SIGINT; each must end well."""
        problems = []
        for process in self._started:
            try:
                process.stop(accept_ended=True)
            except AssertionError as problem:
                problems.append(str(problem))
            # Shown by pytest when the test has failed.
            print(f"--- log of {process.full_name} ---\n{process.log()}")
            process.clean_up()
        assert not problems, "\n".join(problems)


@contextlib.contextmanager
def _starter():
    with contextlib.closing(Client()) as client:
        starter = Starter(client)
        try:
            yield starter
        finally:
            starter.finish()


@pytest.fixture
def starter():
    """Nodes that live as long as one test."""
    with _starter() as one:
        yield one


@pytest.fixture(scope="module")
def module_starter():
    """Nodes that live as long as the tests of one file."""
    with _starter() as one:
        yield one


@pytest.fixture
def client():
    """A ROS node of the test's own; spun only while the test waits for something."""
    with contextlib.closing(Client()) as helper:
        yield helper


@pytest.fixture(scope="session")
def robots():
    """Folder with the robot descriptions of example-robot-data (`make test-robots` fetches them)."""
    folder = ROOT / ".ros" / "test_robots" / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    if not folder.is_dir():
        pytest.fail(f"{folder} is missing: run 'make test-robots' first")
    return folder
