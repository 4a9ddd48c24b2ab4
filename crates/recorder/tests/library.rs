//! What the carried library asks of the process that loads it, read from its ELF tables.

use bystander_recorder::LIBRARY;
use object::elf::FileHeader64;
use object::read::elf::{Dyn, FileHeader, Sym};
use object::{Endianness, elf};

/// What may be asked of the C library: old functions that every version has.
const OF_THE_C_LIBRARY: [&str; 10] =
    ["bcmp", "clock_gettime", "dlsym", "madvise", "memcpy", "memmove", "memset", "mmap", "munmap", "syscall"];

/// The names of the library's dynamic symbols: those that it needs, and those that it gives.
fn symbols(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let header = FileHeader64::<Endianness>::parse(bytes).expect("an ELF file of 64 bits");
    let endian = header.endian().expect("an order of bytes");
    let sections = header.sections(endian, bytes).expect("sections");
    let table = sections.symbols(endian, bytes, elf::SHT_DYNSYM).expect("dynamic symbols");
    let named: Vec<_> = table
        .iter()
        .map(|symbol| {
            let name = String::from_utf8(symbol.name(endian, table.strings()).expect("a name").to_vec()).expect("text");
            (name, symbol.is_undefined(endian))
        })
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let of = |wanted: bool| named.iter().filter(|(_, needed)| *needed == wanted).map(|(name, _)| name.clone()).collect();
    (of(true), of(false))
}

#[test]
fn it_needs_the_stable_abi_and_a_few_old_functions_and_cannot_panic() {
    let has_one = cfg!(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"));
    assert_eq!(LIBRARY.is_some(), has_one, "a target has a recorder if it is one of those that can load it");
    let Some(library) = LIBRARY else { return };
    let (needed, given) = symbols(library);
    let foreign: Vec<_> = needed.iter().filter(|name| !name.starts_with("Py") && !name.starts_with("_Py_")).collect();
    let unknown: Vec<_> = foreign.iter().filter(|name| !OF_THE_C_LIBRARY.contains(&name.as_str())).collect();
    // Code that could panic would need `bystander_recorder_cannot_panic`, which exists nowhere.
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(needed.len() > 50, "{needed:?}");
    assert_eq!(given, ["PyInit_bystander_recorder"]);
}

#[test]
fn no_symbol_has_a_version_and_no_library_is_needed() {
    let Some(library) = LIBRARY else { return };
    let header = FileHeader64::<Endianness>::parse(library).expect("an ELF file of 64 bits");
    let endian = header.endian().expect("an order of bytes");
    let sections = header.sections(endian, library).expect("sections");
    assert!(sections.gnu_verneed(endian, library).expect("is readable").is_none(), "symbols have versions");
    let (entries, _) = sections.dynamic(endian, library).expect("is readable").expect("a dynamic table");
    let needed = entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED).count();
    assert_eq!(needed, 0, "it names libraries to load");
    assert!(library.len() < 128 << 10, "{} bytes", library.len());
}
