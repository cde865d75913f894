use super::*;
use crate::node::parameter_values::defaults;
use crate::node::test_data::{fault, fault_urdf};

fn parameter(name: &str, value: &ParameterValue) -> rcl::Parameter {
    rcl::Parameter {
        name: name.into(),
        value: message_from(value),
    }
}

fn refused(name: &str, value: &ParameterValue) -> String {
    let model = fault_urdf(&fault("frame_target_other"));
    let chain = model.chain("base", "tip", false).unwrap();
    let sent = [
        parameter("planning.clearance", &ParameterValue::Double(0.5)),
        parameter(name, value),
    ];
    changed(&defaults(), false, &sent, Some(&chain))
        .unwrap_err()
        .to_string()
}

#[test]
fn values_survive_the_way_through_a_message() {
    for known in DECLARED {
        let value = known.kind.default_value();
        assert_eq!(value_from(&message_from(&value)), value, "{}", known.name);
    }
    for value in [
        ParameterValue::NotSet,
        ParameterValue::ByteArray(vec![1]),
        ParameterValue::BoolArray(vec![true]),
        ParameterValue::IntegerArray(vec![-3]),
    ] {
        assert_eq!(value_from(&message_from(&value)), value);
    }
}

#[test]
fn changes_are_checked_and_only_real_ones_are_told() {
    let sent = [
        parameter("planning.clearance", &ParameterValue::Double(0.5)),
        parameter("ik.timeout", &ParameterValue::Double(0.1)),
        parameter("urdf_file", &ParameterValue::String(String::new())),
        parameter("use_sim_time", &ParameterValue::Bool(false)),
    ];
    let (new, changes) = changed(&defaults(), false, &sent, None).unwrap();
    assert_eq!(Parameters::new(&new).planning.clearance, 0.5);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].name, "planning.clearance");
    let text = |text: &str| ParameterValue::String(text.into());
    assert!(refused("urdf_file", &text("other")).contains("when the node starts"));
    assert!(refused("use_sim_time", &ParameterValue::Bool(true)).contains("use_sim_time"));
    assert!(refused("planning.roadmap", &text("x")).contains("\"visibility_graph\""));
    assert!(refused("planning.clearence", &text("x")).contains("did you mean"));
    let posture = ParameterValue::DoubleArray(vec![0.0; 3]);
    assert!(refused("ik.preferred_posture", &posture).contains("a list of 3"));
}

#[test]
fn parameters_are_listed_and_described() {
    let all = listed(&[], 0);
    assert_eq!(all.names.len(), DECLARED.len() + 1);
    let groups = [
        "collision",
        "execution",
        "ik",
        "planning",
        "tracking",
        "trajectory",
    ];
    assert_eq!(all.prefixes, groups);
    assert!(listed(&[], 1).names.iter().all(|name| !name.contains('.')));
    let ik = listed(&["ik".into()], 1).names;
    assert!(
        ik.iter().all(|name| name.starts_with("ik.")) && ik.len() == 8,
        "{ik:?}"
    );
    assert_eq!(listed(&["ik.solver".into()], 0).names, ["ik.solver"]);
    assert!(descriptor("urdf_file").read_only && !descriptor("ik.timeout").read_only);
    assert_eq!(
        descriptor("ik.max_iterations").integer_range[0].to_value,
        1_000_000
    );
    assert!(descriptor("ik.solver")
        .additional_constraints
        .contains("fabrik"));
    assert_eq!(
        (descriptor("nope").type_, descriptor("use_sim_time").type_),
        (0, 1)
    );
}
