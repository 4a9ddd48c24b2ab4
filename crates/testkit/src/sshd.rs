//! An SSH daemon on loopback, with keys, known hosts and a home directory of its own: another machine, as far as the command can tell.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::process::kill;
use crate::wait::{LIMIT, until};
use crate::world::World;

/// Where Debian and others keep the daemon, which is on no user's PATH.
const DAEMONS: [&str; 3] = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"];

/// The daemon. It is ended when it is dropped.
#[derive(Debug)]
pub struct Sshd {
    daemon: PathBuf,
    folder: PathBuf,
    port: u16,
    child: Option<Child>,
    variables: String,
    /// Further lines of its configuration.
    lines: String,
    /// The process in whose network it is; `None` is this one's.
    network: Option<u32>,
}

impl Sshd {
    /// Starts one in a world; its users' home is `far/` there, and the command under test is on their PATH as `command` says. `None` where there is none to
    /// be started.
    ///
    /// # Panics
    /// Where it does not start.
    #[must_use]
    pub fn start(world: &World, command: Option<&Path>) -> Option<Self> {
        Self::start_in(world, command, None)
    }

    /// As [`Sshd::start`], in the network of a process.
    ///
    /// # Panics
    /// Where it does not start.
    #[must_use]
    pub fn start_in(world: &World, command: Option<&Path>, network: Option<u32>) -> Option<Self> {
        let daemon = DAEMONS.iter().map(PathBuf::from).find(|path| path.is_file())?;
        // It asks for this folder where it runs as the superuser.
        let _there = fs::create_dir_all("/run/sshd");
        let folder = world.path("ssh");
        for folder in [&folder, &world.path("far"), &world.path("far-bin")] {
            fs::create_dir_all(folder).expect("a folder");
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("own folder");
        }
        if let Some(command) = command {
            std::os::unix::fs::symlink(command, world.path("far-bin/bystander")).expect("a link");
        }
        for key in ["host", "other", "user"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key)).status();
            assert!(made.is_ok_and(|status| status.success()), "ssh-keygen makes a key");
        }
        fs::copy(folder.join("user.pub"), folder.join("authorized")).expect("a key");
        let path = world.environment().into_iter().find(|(name, _)| *name == "PATH").map(|(_, value)| value).unwrap_or_default();
        let variables = variables(world, &format!("{}:{path}", world.path("far-bin").display()));
        let mut sshd = Self { daemon, folder, port: 0, child: None, variables, lines: String::new(), network };
        sshd.serve(world);
        sshd.trust("host");
        Some(sshd)
    }

    /// Starts the daemon on a port that is free now; where another program takes it first, on another.
    fn serve(&mut self, world: &World) {
        for _ in 0..20 {
            self.port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr()).expect("a free port").port();
            self.restart(world);
            if self.child.is_some() {
                return;
            }
        }
        panic!("the daemon does not start:\n{}", fs::read_to_string(self.folder.join("log")).unwrap_or_default());
    }

    fn configuration(&self) -> String {
        let folder = self.folder.display();
        format!(
            "Port {}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile {folder}/pid\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nUsePAM no\nMaxStartups 100\nSetEnv {}\n{}",
            self.port, self.variables, self.lines
        )
    }

    /// Whether it listens, by its own account.
    fn listens(&self) -> bool {
        fs::read_to_string(self.folder.join("log")).is_ok_and(|log| log.contains("Server listening on"))
    }

    /// The configuration for the client; the host is `target` in it.
    ///
    /// # Panics
    /// Where it cannot be written.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        let folder = self.folder.display();
        let text = format!(
            "Host target\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known\n\
               GlobalKnownHostsFile /dev/null\n",
            self.port
        );
        self.write("config", &text)
    }

    /// Makes a key the known one: `host` is the daemon's, `other` is not.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn trust(&self, key: &str) {
        let public = fs::read_to_string(self.folder.join(format!("{key}.pub"))).expect("a key");
        self.write("known", &format!("[127.0.0.1]:{} {public}", self.port));
    }

    /// The process of the daemon that lets connections in.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The processes of the daemon that serve connections, without what they started.
    #[must_use]
    pub fn connections(&self) -> Vec<u32> {
        let below = self.child.as_ref().map(|child| children(child.id())).unwrap_or_default();
        let is_daemon = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim().starts_with("sshd"));
        below.into_iter().filter(is_daemon).collect()
    }

    /// The same daemon, at the same port.
    ///
    /// # Panics
    /// Where it does not start.
    #[must_use]
    pub fn again(mut self, world: &World) -> Self {
        self.stop();
        self.restart(world);
        self
    }

    /// The same daemon, whose users have this PATH.
    ///
    /// # Panics
    /// Where it does not start.
    #[must_use]
    pub fn with_path(mut self, world: &World, path: &str) -> Self {
        self.variables = variables(world, path);
        self.again(world)
    }

    /// The same daemon, with what is asked of it carried out by this program as a login shell does it: `SHELL -c TEXT`.
    ///
    /// # Panics
    /// Where it does not start.
    #[must_use]
    pub fn with_shell(mut self, world: &World, shell: &Path) -> Self {
        self.lines = format!("ForceCommand exec {} -c \"$SSH_ORIGINAL_COMMAND\"\n", shell.display());
        self.again(world)
    }

    fn restart(&mut self, world: &World) {
        self.write("sshd_config", &self.configuration());
        // What it says of an earlier start is none of this one.
        self.write("log", "");
        let mut command = Command::new(if self.network.is_some() { Path::new("nsenter") } else { &self.daemon });
        if let Some(pid) = self.network {
            command.arg(format!("--net=/proc/{pid}/ns/net")).arg(&self.daemon);
        }
        command.env_clear().envs(world.environment()).arg("-D").arg("-f").arg(self.folder.join("sshd_config"));
        command.arg("-E").arg(self.folder.join("log")).stdin(Stdio::null());
        let mut child = command.spawn().expect("the daemon");
        let mut ended = false;
        until("the daemon listens or ends", LIMIT, || {
            ended = child.try_wait().expect("a child").is_some();
            ended || self.listens()
        });
        self.child = (!ended).then_some(child);
    }

    /// Ends the daemon and every connection.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            children(child.id()).into_iter().for_each(|pid| kill(pid, Signal::KILL));
            // It may have ended by itself.
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What users there have in their environment: a home of their own, programs, and the mark of the world.
fn variables(world: &World, path: &str) -> String {
    let mark = world.environment().into_iter().find(|(name, _)| name.starts_with("BYSTANDER_TEST"));
    let mark = mark.map(|(name, value)| format!("{name}={value}")).unwrap_or_default();
    format!("HOME={} PATH={path} {mark}", world.path("far").display())
}

/// The children of a process, and theirs.
fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let own: Vec<u32> = text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    own.iter().flat_map(|pid| children(*pid)).chain(own.iter().copied()).collect()
}
