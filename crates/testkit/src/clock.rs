//! A wall clock that is set to another time, for programs that a test starts: a library that they load before the system's.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::world::World;

/// What programs ask for the time by. Clocks that only count are left as they are.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, at);
  if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += AHEAD;
  return result;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(at, zone);
  if (result == 0) at->tv_sec += AHEAD;
  return result;
}
time_t time(time_t *to) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  if (to) *to = at.tv_sec;
  return at.tv_sec;
}
"#;

/// Builds the library in a world, for a clock that is ahead by so many seconds (less than none: behind); programs take it by `LD_PRELOAD`. `None` where
/// there is no C compiler.
///
/// # Panics
/// Where the compiler refuses it.
#[must_use]
pub fn clock_ahead(world: &World, seconds: i64) -> Option<PathBuf> {
    let (source, library) = (world.path("clock.c"), world.path("clock.so"));
    fs::write(&source, SOURCE).expect("a file");
    let ahead = format!("-DAHEAD=({seconds})");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", &ahead, "-o"]).args([&library, &source]).arg("-ldl").output().ok()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(library)
}
