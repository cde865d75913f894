"""Robot descriptions with oddities that must not keep a robot from being used, through the running node.

The poses to reach come with the cases: they were computed by others.
"""

import json

import numpy as np
import pytest
from arm import Arm, assert_code
from builtin_interfaces.msg import Duration
from harness import ROOT
from messages import joint_state, stamped
from robot import Chain, read_joints

FAULTS = ROOT / "tests" / "data" / "faults"
CASES = [
    "fk_joint_file_order",
    "urdf_axis_nonunit",
    "urdf_extra_tags",
    "urdf_floating_planar",
    "urdf_mesh_material",
    "urdf_mimic_chain",
    "urdf_rpy_gimbal",
    "urdf_unbound_prefix",
]


def load(name):
    return json.loads((FAULTS / f"{name}.json").read_text())


def root_of(joints):
    (root,) = {joint.parent for joint in joints} - {joint.child for joint in joints}
    return root


@pytest.mark.parametrize("name", CASES)
def test_odd_description_is_used_as_it_was_meant(starter, name):
    case = load(name)
    text = (FAULTS / case["input"]["urdf_file"]).read_text()
    # Prefixes that nothing declares are what one of the cases is about; they play no part in the kinematics.
    clean = text.replace("xacro:", "xacro_").replace("gz:", "gz_")
    joints = read_joints(clean)
    known = [(entry, entry.get("base") or root_of(joints)) for entry in case["expected"]["fk"]]
    # Those with a joint that moves; of one tip, since the node is started for one arm.
    known = [(entry, base) for entry, base in known if Chain(joints, base, entry["tip"]).joints]
    tip, base = known[0][0]["tip"], known[0][1]
    file = FAULTS / case["input"]["urdf_file"]
    parameters = {"urdf_file": str(file), "base_link": base, "tip_link": tip}
    arm = Arm(starter.node(parameters), starter.client, clean, base, tip)
    for entry in (entry for entry, from_ in known if (from_, entry["tip"]) == (base, tip)):
        target = stamped(entry["xyz"], entry["quat_xyzw"])
        answer = arm.solve_ik(target, seed=joint_state(entry["q"], entry["q"].values()), timeout=Duration(sec=5))
        assert_code(answer, "SUCCESS")
        arm.check_solution(answer.solutions[0], target)
    for joint in case["expected"].get("warn", []):
        assert any("WARN" in line and joint in line for line in arm.process.log().splitlines()), f"no word on {joint}"


def test_velocity_limits_that_are_missing_are_the_parameters(starter):
    """Neither a joint without a velocity limit nor one with a limit of zero makes a motion without end."""
    name = "urdf_limit_no_velocity_effort"
    text = (FAULTS / f"{name}.urdf").read_text()
    joints = read_joints(text)
    (tip,) = {j.child for j in joints} - {j.parent for j in joints}
    parameters = {"base_link": root_of(joints), "tip_link": tip, "trajectory.default_max_velocity": 0.5}
    arm = starter.arm(FAULTS / f"{name}.urdf", parameters)
    for joint in load(name)["expected"]["warn"]:
        assert any("WARN" in line and joint in line for line in arm.process.log().splitlines()), f"no word on {joint}"
    # Stretched upwards the tip lies on the first joint's axis: it turns on the spot, which three joints can do.
    start, goal = np.array([-0.6, 0.0, 0.0]), np.array([0.6, 0.0, 0.0])
    answer = arm.plan_path(arm.chain.forward(goal), start=arm.seed(start))
    assert_code(answer, "SUCCESS")
    last = answer.trajectory.points[-1]
    assert np.allclose(last.positions, goal, atol=1e-4) and 2 <= last.time_from_start.sec < 60
    numbers = [v for p in answer.trajectory.points for v in (*p.positions, *p.velocities, *p.accelerations)]
    assert np.all(np.isfinite(numbers))
    speeds = np.abs([p.velocities for p in answer.trajectory.points])
    limits = {"no_vel": 0.5, "no_eff": 1.5, "zeroed": 0.5}
    assert np.all(speeds <= [limits[joint] * (1 + 1e-6) for joint in arm.chain.names])


@pytest.mark.parametrize("soft, upper", [(False, 1.5), (True, 1.3)])
def test_soft_limits_hold_where_they_are_asked_for(starter, soft, upper):
    case = load("urdf_soft_limits")
    assert case["expected"]["hard"]["s1"][1] == 1.5 and case["expected"]["effective_if_soft_used"]["s1"][1] == 1.3
    text = (FAULTS / "urdf_soft_limits.urdf").read_text()
    joints = read_joints(text)
    tips = sorted({j.child for j in joints} - {j.parent for j in joints})
    parameters = {"base_link": root_of(joints), "tip_link": tips[0], "use_soft_limits": soft}
    arm = starter.arm(FAULTS / "urdf_soft_limits.urdf", parameters)
    q = [0.1] * len(arm.chain.names)
    q[arm.chain.names.index("s1")] = 1.45
    answer = arm.plan_path(arm.chain.forward(q), start=arm.seed(q))
    if soft:
        assert_code(answer, "START_STATE_INVALID", '"s1"', str(upper))
    else:
        assert_code(answer, "SUCCESS")


def test_chain_with_a_floating_joint_is_refused_with_its_name(starter):
    base, tip = load("urdf_floating_planar")["expected"]["chain_error"]["base"], "crow"
    process = starter.process(
        {"urdf_file": str(FAULTS / "urdf_floating_planar.urdf"), "base_link": base, "tip_link": tip}
    )
    assert process.wait_for_exit() == 2
    assert "drift" in process.log() or "glide" in process.log()


def test_chain_of_five_hundred_joints_is_no_trouble(starter):
    case = load("urdf_long_chain")
    (entry,) = case["expected"]["fk"]
    text = (FAULTS / "urdf_long_chain.urdf").read_text()
    base = root_of(read_joints(text))
    arm = starter.arm(FAULTS / "urdf_long_chain.urdf", {"base_link": base, "tip_link": entry["tip"]})
    assert len(arm.chain.names) == 500
    target = stamped(entry["xyz"], entry["quat_xyzw"])
    answer = arm.solve_ik(target, seed=arm.seed([entry["q_all"]] * 500), timeout=Duration(sec=15))
    assert_code(answer, "SUCCESS")
    arm.check_solution(answer.solutions[0], target)


def test_collisions_cannot_be_avoided_without_shapes_and_that_is_said(starter):
    parameters = {"base_link": "base", "tip_link": "claw_l"}
    arm = starter.arm(FAULTS / "js_nan_fields.urdf", parameters)
    q = [0.1] * len(arm.chain.names)
    q[arm.chain.names.index("claw")] = 0.01
    target = arm.chain.forward(q)
    assert_code(arm.solve_ik(target, seed=arm.seed(q)), "SUCCESS")
    answer = arm.solve_ik(target, seed=arm.seed(q), avoid_collisions=True)
    assert_code(answer, "COLLISION_CHECKING_UNAVAILABLE", "avoid_collisions", "<collision>")
    assert not answer.solutions
