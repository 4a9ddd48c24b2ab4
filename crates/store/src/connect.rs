//! Opens the database in the way that its place allows.
//!
//! The usual way is a write-ahead log: an append costs no flush, and readers never wait for a writer. It needs memory that all processes share,
//! in a small file beside the database. Where that file cannot be, there are other ways:
//! - on a network file system, where memory is not shared between hosts, a rollback journal that is flushed at every commit;
//! - on a full disk, the log without the shared file, for one process at a time: what was recorded stays readable, and is written on once there is
//!   space again;
//! - in a folder that cannot be written to, reading only.

use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, flock};

use crate::migrate::{MIGRATIONS, migrate};
use crate::sqlite::{StoreError, Told as _, log_of};

/// How long a process waits for another one that is writing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A run adds to the end and a report reads from the beginning: pages that were seen are not seen again, and more of them would only stay in memory.
const CACHE_KIB: i64 = 256;

/// File systems that several hosts may write to, by the number that `statfs` gives: NFS, SMB and CIFS, 9P, AFS, Ceph, FUSE (sshfs among them),
/// Lustre, GPFS, BeeGFS.
const SHARED_BETWEEN_HOSTS: [u64; 11] =
    [0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997, 0x5346_414f, 0x00c3_6400, 0x6573_5546, 0x0bd0_0bd0, 0x4750_4653, 0x1983_0326];

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A write-ahead log with shared memory.
    Log,
    /// A rollback journal.
    Journal,
    /// A write-ahead log for one process at a time.
    Alone,
    /// Reading only.
    Frozen,
}

/// Opens a database, creates it where there is none, and brings it to the newest version.
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let usual = if is_shared_between_hosts(path) { Way::Journal } else { Way::Log };
    let first = match open(path, usual) {
        Err(error) if wants_another_way(&error) => error,
        result => return result,
    };
    for way in [Way::Alone, Way::Frozen] {
        if let Ok(connection) = open(path, way) {
            return Ok(connection);
        }
    }
    Err(first)
}

/// Opens a database that only this connection sees: SQLite keeps it in its cache, and spills into a file that it has removed already.
pub(crate) fn scratch(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open("").told(path)?;
    // Nothing of it outlives this process: there is nothing to flush.
    connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_row| Ok(())).told(path)?;
    connection.pragma_update(None, "synchronous", "OFF").told(path)?;
    migrate(&mut connection, path, MIGRATIONS)?;
    Ok(connection)
}

fn open(path: &Path, way: Way) -> Result<Connection, StoreError> {
    let mut connection = match way {
        Way::Frozen => frozen(path)?,
        Way::Log | Way::Journal | Way::Alone => Connection::open(path).told(path)?,
    };
    connection.busy_timeout(PATIENCE).told(path)?;
    connection.pragma_update(None, "foreign_keys", true).told(path)?;
    connection.pragma_update(None, "synchronous", "FULL").told(path)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB).told(path)?;
    if way == Way::Alone {
        connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_row| Ok(())).told(path)?;
    }
    match way {
        Way::Log | Way::Alone => turn_log_on(&connection, path)?,
        Way::Journal => connection.pragma_update_and_check(None, "journal_mode", "TRUNCATE", |_row| Ok(())).told(path)?,
        Way::Frozen => {}
    }
    migrate(&mut connection, path, MIGRATIONS)?;
    // The first look at a table is where missing shared memory shows.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_row| Ok(())).told(path)?;
    Ok(connection)
}

/// Turns the write-ahead log on where it is off, which is once in the life of a database. SQLite does not wait when two connections do so at
/// once, but fails; so they take turns. The lock is one on the folder: it leaves no file, and ends with its process.
fn turn_log_on(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).told(path)?;
    if mode == "wal" {
        return Ok(());
    }
    let folder = File::open(path.parent().unwrap_or(Path::new(".")));
    // Where a folder cannot be locked, the switch may fail beside another first one; alone it does not.
    let _turn = folder.ok().filter(|folder| flock(folder, FlockOperation::LockExclusive).is_ok());
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_row| Ok(())).told(path)
}

/// Opens a file that nobody can change; refused where a log holds something that the file does not.
fn frozen(path: &Path) -> Result<Connection, StoreError> {
    let has_log = log_of(path).metadata().is_ok_and(|log| log.len() > 0);
    let encoded: String = path.as_os_str().as_bytes().iter().map(|byte| encoded(*byte)).collect();
    let uri = format!("file:{encoded}?{}", if has_log { "mode=ro" } else { "immutable=1" });
    Connection::open_with_flags(uri, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI).told(path)
}

fn encoded(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
}

/// Whether what failed may be the shared file, rather than the database or what it holds.
fn wants_another_way(error: &StoreError) -> bool {
    match error {
        StoreError::DiskFull { .. } | StoreError::ReadOnly { .. } => true,
        StoreError::Sqlite { source, .. } => matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::FileLockingProtocolFailed | ErrorCode::PermissionDenied)
        ),
        _ => false,
    }
}

fn is_shared_between_hosts(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new("."));
    rustix::fs::statfs(folder).is_ok_and(|info| SHARED_BETWEEN_HOSTS.contains(&(info.f_type.cast_unsigned() & 0xffff_ffff)))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{CACHE_KIB, Way, connect, open};

    fn mode(connection: &Connection) -> String {
        connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("a mode")
    }

    #[test]
    fn each_way_reads_and_writes_what_the_others_wrote() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("odd ?#%\u{e9} name.sqlite");
        let insert = "INSERT INTO run (id, file, spec_sha256, created_ns, status) VALUES (?1, x'', '', 0, '')";
        for (index, (way, wanted)) in [(Way::Log, "wal"), (Way::Journal, "truncate"), (Way::Alone, "wal")].into_iter().enumerate() {
            let connection = open(&path, way).expect("opens");
            assert_eq!(mode(&connection), wanted);
            let cache: i64 = connection.pragma_query_value(None, "cache_size", |row| row.get(0)).expect("a size");
            assert_eq!(cache, -CACHE_KIB, "it is in KiB where it is negative");
            connection.execute(insert, [index.to_string()]).expect("writes");
            let count: u32 = connection.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).expect("reads");
            assert_eq!(count as usize, index + 1);
        }
        let connection = open(&path, Way::Frozen).expect("opens");
        let count: u32 = connection.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).expect("reads");
        assert_eq!(count, 3);
        connection.execute(insert, ["x"]).expect_err("it is frozen");
    }

    #[test]
    fn a_local_file_gets_a_log() {
        let folder = tempfile::tempdir().expect("folder");
        assert_eq!(mode(&connect(&folder.path().join("x.sqlite")).expect("opens")), "wal");
    }
}
