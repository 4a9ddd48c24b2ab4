-- Released migrations never change; what is missing comes in the next number.

-- "BYST": tells the file apart from other programs' databases.
PRAGMA application_id = 1113150292;

CREATE TABLE run (
    number      INTEGER PRIMARY KEY AUTOINCREMENT, -- order of creation, whatever the clock says
    id          TEXT    NOT NULL UNIQUE,
    file        BLOB    NOT NULL,                  -- the experiment file's path as bytes
    spec_sha256 TEXT    NOT NULL,
    created_ns  INTEGER NOT NULL,
    status      TEXT    NOT NULL
) STRICT;

CREATE INDEX run_by_file ON run (file, number);

CREATE TABLE event (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,     -- order of insertion
    run     INTEGER NOT NULL REFERENCES run (number),
    trial   INTEGER NOT NULL,                      -- 0 for what concerns the run as a whole
    origin  TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    UNIQUE (run, trial, origin, seq)
) STRICT;

CREATE INDEX event_by_run ON event (run, number);
