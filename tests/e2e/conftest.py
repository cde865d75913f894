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

from harness import Client, NodeProcess  # noqa: E402


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


@pytest.fixture
def client():
    """A ROS node of the test's own; spun only while the test waits for something."""
    with contextlib.closing(Client()) as helper:
        yield helper


@pytest.fixture
def start_node(client):
    """Function that starts the node with the given parameters and waits until its services are there.

    After the test every node that was started is ended with SIGINT and must have ended well; its log is shown when
    the test failed.
    """
    started = []

    def start(parameters=None, *, name="arm_planner", namespace="", ready_service="solve_ik", timeout=30.0):
        process = NodeProcess(node_program(), parameters or {}, name=name, namespace=namespace)
        started.append(process)
        process.wait_until_ready(client, ready_service, timeout)
        return process

    yield start
    problems = []
    for process in started:
        try:
            process.stop()
        except AssertionError as problem:
            problems.append(str(problem))
        # Shown by pytest when the test has failed.
        print(f"--- log of {process.full_name} ---\n{process.log()}")
        process.clean_up()
    assert not problems, "\n".join(problems)


@pytest.fixture
def arm(start_node):
    """Function that starts the node on one of our own arms: arm("six_axis", {...})."""

    def start(description, parameters=None, **options):
        merged = {"urdf_file": str(ROOT / "urdf" / f"{description}.urdf")}
        merged.update(parameters or {})
        return start_node(merged, **options)

    return start


@pytest.fixture(scope="session")
def robots():
    """Folder with the robot descriptions of example-robot-data (`make test-robots` fetches them)."""
    folder = ROOT / ".ros" / "test_robots" / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    if not folder.is_dir():
        pytest.fail(f"{folder} is missing: run 'make test-robots' first")
    return folder
