//! What can be wrong with a robot description, and what is forgiven.

/// A robot description that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The text is not XML.
    #[error("the URDF is not well-formed XML at line {line}, column {column}: {message}")]
    Xml {
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// What the reader said.
        message: String,
    },
    /// The text is XML but not a robot description.
    #[error("the URDF's root element is <{found}>, not <robot>: is this the right file?")]
    NotARobot {
        /// The root element found.
        found: String,
    },
    /// The text is empty.
    #[error("the URDF is empty: give the text of a robot description or the path of a file")]
    Empty,
    /// xacro that was not expanded.
    #[error("line {line}: `{text}` is xacro that was not expanded: run `xacro FILE.xacro > FILE.urdf` first and load that")]
    UnexpandedXacro {
        /// Line, from 1.
        line: u32,
        /// The expression or element.
        text: String,
    },
    /// An element lacks something that it must have.
    #[error("line {line}: {element} lacks {missing}")]
    Missing {
        /// Line, from 1.
        line: u32,
        /// E.g. `<joint> "j1"`.
        element: String,
        /// E.g. `its <parent link="…"/>`.
        missing: String,
    },
    /// Two links or two joints of one name.
    #[error("two {what}s are called \"{name}\" (lines {first} and {second}): rename one")]
    DuplicateName {
        /// `link` or `joint`.
        what: &'static str,
        /// The name.
        name: String,
        /// Line of the first.
        first: u32,
        /// Line of the second.
        second: u32,
    },
    /// A joint names a link that there is not.
    #[error("joint \"{joint}\" names the {role} link \"{link}\", which does not exist{hint}")]
    UnknownLink {
        /// The joint.
        joint: String,
        /// `parent` or `child`.
        role: &'static str,
        /// The name that it gives.
        link: String,
        /// `; did you mean …?` or empty.
        hint: String,
    },
    /// A link is the child of several joints.
    #[error("link \"{link}\" is the child of several joints ({}): URDF describes trees; cut the loop at one of them", joints.join(", "))]
    MultipleParents {
        /// The link.
        link: String,
        /// The joints.
        joints: Vec<String>,
    },
    /// The joints run in a circle.
    #[error("the joints {} form a loop: URDF describes trees; cut it at one of them", joints.join(" -> "))]
    Loop {
        /// The joints on it.
        joints: Vec<String>,
    },
    /// Several links are nobody's child.
    #[error("several links have no parent ({}): connect them with a joint, a robot has one root", roots.join(", "))]
    MultipleRoots {
        /// The links.
        roots: Vec<String>,
    },
    /// There is no link.
    #[error("robot \"{robot}\" has no links")]
    NoLinks {
        /// The robot.
        robot: String,
    },
    /// Something that must be three finite numbers is not.
    #[error("line {line}: {element}: {attribute}=\"{text}\" is not {expected} finite number(s) separated by blanks{hint}")]
    InvalidVector {
        /// Line, from 1.
        line: u32,
        /// E.g. `<origin> of joint "j1"`.
        element: String,
        /// E.g. `xyz`.
        attribute: String,
        /// The text found.
        text: String,
        /// How many were expected.
        expected: usize,
        /// More, e.g. about decimal commas.
        hint: String,
    },
    /// Something that must be one finite number is not.
    #[error("line {line}: {element}: {attribute}=\"{text}\" is not a finite number{hint}")]
    InvalidNumber {
        /// Line, from 1.
        line: u32,
        /// E.g. `<limit> of joint "j1"`.
        element: String,
        /// E.g. `lower`.
        attribute: String,
        /// The text found.
        text: String,
        /// More, e.g. about decimal commas.
        hint: String,
    },
    /// A joint type that URDF does not know.
    #[error("joint \"{joint}\" has the unknown type \"{text}\": use revolute, continuous, prismatic, fixed, floating or planar")]
    UnknownJointType {
        /// The joint.
        joint: String,
        /// The text found.
        text: String,
    },
    /// An axis of length zero.
    #[error(
        "joint \"{joint}\" has an <axis> of length zero: give a direction, e.g. xyz=\"0 0 1\""
    )]
    ZeroAxis {
        /// The joint.
        joint: String,
    },
    /// A revolute or prismatic joint without `<limit lower= upper=>`.
    #[error("joint \"{joint}\" is {kind} and has no <limit lower=\"…\" upper=\"…\">: give its range, or make it continuous")]
    MissingLimit {
        /// The joint.
        joint: String,
        /// `revolute` or `prismatic`.
        kind: &'static str,
    },
    /// `lower` above `upper`.
    #[error(
        "joint \"{joint}\" has reversed limits: lower {lower:?} is above upper {upper:?}; swap them"
    )]
    ReversedLimits {
        /// The joint.
        joint: String,
        /// Lower limit \[rad or m\].
        lower: f64,
        /// Upper limit \[rad or m\].
        upper: f64,
    },
    /// A follower of a joint that there is not.
    #[error("joint \"{joint}\" mimics \"{driver}\", which does not exist{hint}")]
    UnknownMimic {
        /// The follower.
        joint: String,
        /// The name that it gives.
        driver: String,
        /// `; did you mean …?` or empty.
        hint: String,
    },
    /// Followers that follow each other.
    #[error("the <mimic> joints {} follow each other in a circle: one of them must be free", joints.join(" -> "))]
    MimicCycle {
        /// The joints on it.
        joints: Vec<String>,
    },
    /// A follower of a joint that has no single value.
    #[error(
        "joint \"{joint}\" mimics \"{driver}\", which is {kind} and has no single value to follow"
    )]
    MimicOfImmovable {
        /// The follower.
        joint: String,
        /// The driver.
        driver: String,
        /// The driver's kind.
        kind: &'static str,
    },
    /// The checked text was still refused by the parser behind.
    #[error("the URDF parser refused the description: {message}")]
    Parser {
        /// What it said.
        message: String,
    },
}

/// Something in a description that was forgiven, to be told to the user.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelWarning {
    /// An axis that was not of length one.
    #[error("joint \"{joint}\": its axis has length {length:?}, normalised")]
    AxisNormalised {
        /// The joint.
        joint: String,
        /// The length found.
        length: f64,
    },
    /// No velocity limit, or zero.
    #[error("joint \"{joint}\": no velocity limit ({found}); the parameter for joints without one is used")]
    NoVelocityLimit {
        /// The joint.
        joint: String,
        /// What there is.
        found: String,
    },
    /// No effort limit, or zero.
    #[error("joint \"{joint}\": no effort limit ({found})")]
    NoEffortLimit {
        /// The joint.
        joint: String,
        /// What there is.
        found: String,
    },
    /// A namespace prefix that is not declared.
    #[error(
        "line {line}: the prefix of `{name}` is not declared; the element or attribute is ignored"
    )]
    UnboundPrefix {
        /// Line, from 1.
        line: u32,
        /// The name with its prefix.
        name: String,
    },
    /// Soft limits that leave nothing or reach beyond the hard ones.
    #[error("joint \"{joint}\": soft limits [{lower:?}, {upper:?}] {what}")]
    SoftLimits {
        /// The joint.
        joint: String,
        /// Soft lower limit.
        lower: f64,
        /// Soft upper limit.
        upper: f64,
        /// What was done about it.
        what: &'static str,
    },
    /// A `<mimic>` in a joint that has no value of its own.
    #[error("joint \"{joint}\" is {kind} and cannot follow another; its <mimic> is ignored")]
    ImmovableFollower {
        /// The joint.
        joint: String,
        /// Its kind.
        kind: &'static str,
    },
    /// A shape that is incomplete, or a second element where one is allowed.
    #[error("line {line}: {element} is {problem}; ignored")]
    Ignored {
        /// Line, from 1.
        line: u32,
        /// The element.
        element: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Why a chain cannot be taken from a robot.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChainError {
    /// No link of that name.
    #[error("{role} link \"{name}\" does not exist{hint}; links: {}", links.join(", "))]
    UnknownLink {
        /// `base` or `tip`.
        role: &'static str,
        /// The name asked for.
        name: String,
        /// `; did you mean …?` or empty.
        hint: String,
        /// The robot's links.
        links: Vec<String>,
    },
    /// The tip is not below the base.
    #[error("tip link \"{tip}\" is not below base link \"{base}\" in the tree; links below it: {}", below.join(", "))]
    NotConnected {
        /// The base.
        base: String,
        /// The tip.
        tip: String,
        /// What is below the base.
        below: Vec<String>,
    },
    /// Several tips are possible and none was named.
    #[error("the robot has several tips, name one (parameter tip_link): {}", choices.join(", "))]
    SeveralTips {
        /// The choices.
        choices: Vec<String>,
    },
    /// A floating or planar joint in the chain.
    #[error(
        "joint \"{joint}\" between \"{base}\" and \"{tip}\" is {kind}: choose a base link after it"
    )]
    UnsupportedJointInChain {
        /// The joint.
        joint: String,
        /// Its kind.
        kind: &'static str,
        /// The base.
        base: String,
        /// The tip.
        tip: String,
    },
    /// A tree without tips.
    #[error("a tree of chains needs at least one tip link")]
    NoTips,
    /// A tip twice in one tree.
    #[error("tip link \"{tip}\" is named twice")]
    TipTwice {
        /// The tip.
        tip: String,
    },
    /// Nothing moves between base and tip.
    #[error("no joint between \"{base}\" and \"{tip}\" moves")]
    NoMovingJoint {
        /// The base.
        base: String,
        /// The tip.
        tip: String,
    },
    /// The limits of a joint and of its followers have nothing in common.
    #[error(
        "the limits of \"{joint}\" and of its follower \"{follower}\" have no value in common"
    )]
    EmptyRange {
        /// The driver.
        joint: String,
        /// The follower.
        follower: String,
    },
}
