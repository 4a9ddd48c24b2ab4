//! What each way cannot do, as sentences that are shown with the choice.

use bystander_supervise::Availability;

use super::choose::Way;

/// Limits of every private mount.
const MOUNTED: [&str; 4] = [
    "inside, to rename or remove a mounted file fails with EBUSY, and to write to it with EROFS",
    "processes that other daemons start for the program (ssh, Slurm, a container engine, Ray) do not see the mounts",
    "a rename over the file from outside, as git and editors do it, takes the mount away; the trial is void then",
    "a program that reads the file's inode number, device or times sees those of the private copy",
];
/// Limits of layered folders.
const LAYERED: [&str; 2] = [
    "what the program writes into the layered package folder is kept in memory and lost with the trial",
    "interpreters with other package folders than the program's own, and -S, do not load it",
];
/// Limits of a user namespace.
const AS_USER: [&str; 2] = [
    "in the user namespace files of other users appear as those of nobody, which ssh and sudo refuse",
    "in the user namespace set-user-id programs, other groups and mounts of the program's own do not work",
];
/// Limits of a statement in the text.
const TEXT: [&str; 3] = [
    "a probe by text stands at an entry or a line; returns, exceptions and `unsafe` expressions are probed by the overlay only",
    "a probe by text adds a call, at which the interpreter may switch threads",
    "a program that reads its own source sees the statement",
];

/// What a way cannot do, one sentence each.
#[must_use]
pub fn limits_of(way: Way, available: &Availability) -> Vec<String> {
    let mut limits: Vec<&str> = Vec::new();
    match way {
        Way::Overlay => {
            limits.push("processes with -I, -E, -S, an emptied environment, or modules in archives are not covered; receipts name them");
        }
        Way::OverlayAndPth => limits.extend(LAYERED),
        Way::Text => limits.extend(TEXT),
        Way::Patch => {
            limits.extend(TEXT);
            limits.push("every process that loads the file meanwhile, of this trial or not, passes the statement");
        }
    }
    if way.is_mounted() {
        limits.extend(MOUNTED);
        limits.extend(AS_USER.iter().filter(|_| matches!(available, Availability::User { .. })));
    }
    limits.into_iter().map(str::to_owned).collect()
}
