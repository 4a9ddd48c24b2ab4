//! What is said about `on` and `lease`.

use std::path::Path;
use std::time::Duration;

use bystander_lab::spec::{self, Remote};
use insta::assert_snapshot;

use crate::shown::{FILE, shown};

fn file(more: &str) -> String {
    format!("{more}\n[program]\ncommand = ['true']\n[plan]\ndescribe = true\n")
}

fn remote(more: &str) -> Remote {
    spec::parse(&file(more), Path::new(FILE)).expect("is valid").remote
}

#[test]
fn a_machine_has_its_lease() {
    assert_eq!(remote(""), Remote::default());
    let read = remote("on = 'ssh://ann@gpu1/srv'\nlease = '30m'");
    assert_eq!(read.on.map(|on| on.to_string()).as_deref(), Some("ssh://ann@gpu1/srv"));
    assert_eq!((read.lease, read.lone), (Some(Duration::from_secs(1800)), None));
}

#[test]
fn a_lease_without_a_machine_is_a_fault_where_none_is_typed_either() {
    let read = remote("lease = '30m'");
    let problem = read.lone.expect("nothing names a machine");
    assert_eq!(read.lease, Some(Duration::from_secs(1800)), "a machine that is typed takes it");
    assert_eq!(problem.span, Some(8..13));
    assert_eq!(problem.message, "`lease` says nothing without a machine: this run is made here");
}

#[test]
fn what_is_no_address_or_no_lease_is_told_at_its_place() {
    assert_snapshot!(shown(&file("on = 'target'\nlease = '4s'")), @r#"
    error spec.invalid_value 1:6 "'target'"
      `on` is no address of a machine: it does not begin with `ssh://`; its form is ssh://user@host[:port][/folder]
      help: write `on = "ssh://target"`
    error spec.invalid_value 2:9 "'4s'"
      `lease` is shorter than 5 s; a sign of life is sent every 2 s, and may be late
    "#);
    assert_snapshot!(shown(&file("on = 'ssh://a:b@target'\nlease = 30")), @r#"
    error spec.invalid_value 1:6 "'ssh://a:b@target'"
      `on` is no address of a machine: it holds a password, which would be seen by everybody on this machine; use a key or an agent
      help: write it such as `on = "ssh://user@host"`
    error spec.wrong_type 2:9 "30"
      `lease` must be a span of time, a string such as "15m", found a whole number
      ^ a whole number
      help: say the unit: "30s"
    "#);
    assert_snapshot!(shown(&file("on = ''\nlease = '0s'")), @r#"
    error spec.invalid_value 1:6 "''"
      `on` is empty
    error spec.invalid_value 2:9 "'0s'"
      `lease` must be longer than nothing
    "#);
}
