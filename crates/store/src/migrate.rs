//! Brings a database to the newest schema: numbered SQL files, applied in order, never changed once released.
//!
//! The number of applied migrations is the database's `user_version`. Each is applied in a transaction of its own together with its number.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::sqlite::{StoreError, Told as _};

/// Every migration, oldest first; the newest schema version is their number.
pub(crate) const MIGRATIONS: &[&str] = &[include_str!("../migrations/0001_runs_and_events.sql")];

/// Applies what is missing of `migrations`.
pub(crate) fn migrate(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<(), StoreError> {
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    loop {
        // Read without a write lock first: an up-to-date database is opened by any number of processes at once, and from a full disk.
        let found = version(connection).told(path)?;
        if found > known {
            return Err(StoreError::Newer { path: path.to_owned(), found, known });
        }
        if found == known {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).told(path)?;
        // Another process may have been faster.
        let now = version(&transaction).told(path)?;
        if let Some(sql) = migrations.get(now as usize) {
            transaction.execute_batch(sql).told(path)?;
            transaction.pragma_update(None, "user_version", now + 1).told(path)?;
        }
        transaction.commit().told(path)?;
    }
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::Connection;

    use super::{MIGRATIONS, migrate, version};
    use crate::output::sha256_hex;
    use crate::sqlite::StoreError;

    /// Three steps in which the later ones build on the earlier ones, and keep their rows.
    const STEPS: &[&str] = &[
        "CREATE TABLE t (a INTEGER NOT NULL) STRICT;",
        "ALTER TABLE t ADD COLUMN b INTEGER; UPDATE t SET b = a * 2;",
        "CREATE INDEX t_by_b ON t (b);",
    ];

    fn schema(connection: &Connection) -> Vec<String> {
        let mut statement = connection.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name").expect("prepares");
        let rows = statement.query_map([], |row| row.get(0)).expect("queries");
        rows.collect::<Result<_, _>>().expect("reads")
    }

    fn database() -> Connection {
        Connection::open_in_memory().expect("opens")
    }

    #[test]
    fn migrating_twice_is_migrating_once_and_every_older_version_arrives_at_the_same_schema() {
        for migrations in [MIGRATIONS, STEPS] {
            let mut fresh = database();
            migrate(&mut fresh, Path::new("x"), migrations).expect("first");
            let wanted = schema(&fresh);
            assert!(!wanted.is_empty());
            migrate(&mut fresh, Path::new("x"), migrations).expect("second");
            assert_eq!(schema(&fresh), wanted);
            for older in 0..migrations.len() {
                let mut database = database();
                migrate(&mut database, Path::new("x"), &migrations[..older]).expect("the older version");
                assert_eq!(version(&database).expect("version") as usize, older);
                migrate(&mut database, Path::new("x"), migrations).expect("from the older version");
                assert_eq!(schema(&database), wanted, "from version {older}");
            }
        }
    }

    #[test]
    fn rows_of_an_older_version_are_kept() {
        let mut database = database();
        migrate(&mut database, Path::new("x"), &STEPS[..1]).expect("older");
        database.execute("INSERT INTO t VALUES (21)", []).expect("inserts");
        migrate(&mut database, Path::new("x"), STEPS).expect("newer");
        let b: i64 = database.query_row("SELECT b FROM t", [], |row| row.get(0)).expect("reads");
        assert_eq!(b, 42);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_version_before_it() {
        let mut database = database();
        let steps = [STEPS[0], "CREATE TABLE u (a INTEGER) STRICT; CREATE TABLE t (a INTEGER) STRICT;"];
        migrate(&mut database, Path::new("x"), &steps).expect_err("t exists");
        assert_eq!(version(&database).expect("version"), 1);
        assert_eq!(schema(&database).len(), 1, "nothing of the failed migration is left");
    }

    #[test]
    fn a_newer_database_is_refused_naming_both_versions() {
        let mut database = database();
        migrate(&mut database, Path::new("x"), STEPS).expect("newest");
        let error = migrate(&mut database, Path::new("record.sqlite"), &STEPS[..1]).expect_err("refused");
        assert!(matches!(error, StoreError::Newer { found: 3, known: 1, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("record.sqlite") && text.contains("version 3") && text.contains("up to 1"), "{text}");
    }

    /// A released migration must never change: add a line here with each new one, and leave the others alone.
    #[test]
    fn released_migrations_are_as_they_were_released() {
        let released = ["a9e2beea613e396721580806b702dd252a1edf0523c0bea0a938ddf56d8aa299"];
        let now: Vec<String> = MIGRATIONS.iter().map(|sql| sha256_hex(sql.as_bytes())).collect();
        assert_eq!(now, released);
    }
}
