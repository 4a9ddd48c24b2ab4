//! Why a trial ended: tracebacks, signatures, classes.
