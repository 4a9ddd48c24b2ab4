//! Commands that hand their program to a daemon: what they start is no descendant of theirs, so it can be neither seen nor ended
//! by the trial.
//!
//! Recognised by name, also behind `env`, `sudo`, `nice` and the like, and in the simple words of a `sh -c`. Not recognised:
//! scripts that do the same inside.

use std::ffi::OsStr;
use std::path::Path;

/// How deep one command may stand behind another.
const DEPTH: usize = 8;

/// The reason for commands of container engines.
const CONTAINER: &str = "the container engine runs the program in a container that is no descendant of this command; run Bystander inside the container instead";

/// The reason why a command cannot be supervised, for commands that hand their program to a daemon.
#[must_use]
pub fn handover<S: AsRef<OsStr>>(argv: &[S]) -> Option<&'static str> {
    let words: Vec<&str> = argv.iter().map(|word| word.as_ref().to_str().unwrap_or("")).collect();
    examine(&words, DEPTH)
}

fn examine(argv: &[&str], depth: usize) -> Option<&'static str> {
    let (name, arguments) = argv.split_first()?;
    let depth = depth.checked_sub(1)?;
    let name = Path::new(name).file_name()?.to_str()?;
    match name {
        "env" => examine(behind_env(arguments), depth),
        "sudo" | "doas" => {
            examine(behind(arguments, &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t", "--user", "--group"]), depth)
        }
        "nice" => examine(behind(arguments, &["-n", "--adjustment"]), depth),
        "ionice" => examine(behind(arguments, &["-c", "-n", "--class", "--classdata"]), depth),
        "stdbuf" => examine(behind(arguments, &["-i", "-o", "-e"]), depth),
        "taskset" | "chrt" => examine(behind(arguments, &[]).get(1..)?, depth),
        "timeout" => examine(behind(arguments, &["-k", "-s", "--kill-after", "--signal"]).get(1..)?, depth),
        "time" | "nohup" | "setsid" | "exec" | "command" => examine(behind(arguments, &["-f", "-o", "-a"]), depth),
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => behind_shell(arguments, depth),
        _ => reason(name, arguments),
    }
}

/// The reason for a command by its own name.
fn reason(name: &str, arguments: &[&str]) -> Option<&'static str> {
    let has = |words: &[&str]| arguments.iter().any(|argument| words.contains(argument));
    let subcommand = || arguments.iter().find(|argument| !argument.starts_with('-')).copied();
    match name {
        "docker" | "podman" | "nerdctl" if has(&["run", "start", "exec", "create", "compose", "up", "restart"]) => Some(CONTAINER),
        "docker-compose" | "podman-compose" => Some(CONTAINER),
        "srun" | "sbatch" | "salloc" => {
            Some("Slurm runs the program under its own daemon, perhaps on another machine; run Bystander inside the job step instead")
        }
        "qsub" | "bsub" | "flux" => Some("the batch system runs the program under its own daemon; run Bystander inside the job instead"),
        "ray" if matches!(subcommand(), Some("start" | "job" | "submit" | "up" | "exec")) => {
            Some("Ray runs the program in workers of a cluster that outlives this command; start the program itself instead")
        }
        "systemd-run" => Some("systemd runs the program as a unit of its own; run the program directly instead"),
        "systemctl" | "service" if has(&["start", "restart", "reload"]) => {
            Some("the service manager runs the program as a unit of its own; run the program directly instead")
        }
        "kubectl" | "oc" if has(&["run", "exec", "apply", "create", "debug"]) => {
            Some("Kubernetes runs the program in a pod, perhaps on another machine; run Bystander inside the pod instead")
        }
        "at" | "batch" => Some("the program is run later by a daemon; run it directly instead"),
        "screen" if arguments.iter().any(|argument| argument.starts_with("-d") || argument.starts_with("-D")) => {
            Some("screen runs the program under a server of its own; run the program directly instead")
        }
        "tmux"
            if matches!(
                subcommand(),
                Some("new" | "new-session" | "new-window" | "neww" | "run-shell" | "run" | "send-keys" | "split-window")
            ) =>
        {
            Some("tmux runs the program under a server of its own; run the program directly instead")
        }
        "ssh" => Some("the program runs on another machine under its SSH daemon; run Bystander there instead"),
        _ => None,
    }
}

/// What stands behind options, some of which take the next word as their value.
fn behind<'a, 'b>(arguments: &'a [&'b str], with_value: &[&str]) -> &'a [&'b str] {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        if *argument == "--" {
            at += 1;
            break;
        }
        if !argument.starts_with('-') {
            break;
        }
        at += if with_value.contains(argument) { 2 } else { 1 };
    }
    arguments.get(at..).unwrap_or_default()
}

/// What stands behind `env`: options, then assignments, then the command.
fn behind_env<'a, 'b>(arguments: &'a [&'b str]) -> &'a [&'b str] {
    let mut rest = behind(arguments, &["-u", "-C", "--unset", "--chdir"]);
    while let Some((first, others)) = rest.split_first() {
        if !first.contains('=') {
            break;
        }
        rest = others;
    }
    rest
}

/// Looks at each simple command of a `sh -c`, split at separators; quoting is not understood beyond plain words.
fn behind_shell(arguments: &[&str], depth: usize) -> Option<&'static str> {
    let at = arguments.iter().position(|argument| argument.starts_with('-') && !argument.starts_with("--") && argument.ends_with('c'))?;
    let script = arguments.get(at + 1)?;
    script.split([';', '&', '|', '\n', '(', ')', '{', '}']).find_map(|command| {
        let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
        examine(behind_env(&words), depth)
    })
}

#[cfg(test)]
mod tests {
    use super::handover;

    fn is_handed_over(command: &str) -> bool {
        handover(&command.split(' ').collect::<Vec<_>>()).is_some()
    }

    #[test]
    fn commands_of_daemons_are_recognised() {
        for command in [
            "docker run --gpus all image serve",
            "/usr/bin/podman --log-level debug run image",
            "docker compose up",
            "srun -N 1 python3 -m engine",
            "sbatch job.sh",
            "ray start --head",
            "ray job submit -- python3 x.py",
            "systemd-run --user --scope python3 x.py",
            "kubectl exec pod -- python3 x.py",
            "at now",
            "screen -dmS name python3 x.py",
            "tmux new -d python3",
            "env A=1 B=2 docker run image",
            "env -u HOME -i A=1 srun x",
            "sudo -u root -E docker run image",
            "timeout -k 5 60 srun x",
            "nohup setsid nice -n 5 sbatch x",
        ] {
            assert!(is_handed_over(command), "{command}");
        }
        assert!(handover(&["sh", "-c", "cd /x && exec docker run image"]).is_some());
        assert!(handover(&["bash", "-lc", "A=1 srun x; true"]).is_some());
    }

    #[test]
    fn what_stays_in_the_tree_is_not() {
        for command in [
            "python3 -m engine --port 1",
            "nohup python3 x.py",
            "setsid python3 x.py",
            "docker ps",
            "ray status",
            "kubectl get pods",
            "systemctl status x",
            "screen -ls",
            "tmux ls",
            "env A=1 python3 run.py docker",
            "python3 docker run",
            "timeout 5 true",
            "sh run.sh docker run",
        ] {
            assert!(!is_handed_over(command), "{command}");
        }
        assert!(handover(&["sh", "-c", "echo docker run"]).is_none());
        assert!(handover::<&str>(&[]).is_none());
    }
}
