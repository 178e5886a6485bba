//! What is made of `proto/`, and how the released program is linked: without what nobody reads in it.

#![allow(clippy::disallowed_macros, reason = "cargo reads it from the standard output")]

use std::{env, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=proto");
    prost_build::Config::new()
        .btree_map(["."])
        .compile_protos(&["proto/cri.proto", "proto/images.proto"], &["proto"])?;
    println!("cargo::rerun-if-changed=release.ld");
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if release {
        let directory = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{directory}/release.ld");
    }
    // LLVM's linker has these, which is Rust's default for x86-64 only.
    if release && env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|architecture| architecture == "x86_64") {
        // Relocations as a bit map: 10 kB instead of 240. Needs glibc 2.36, the version of Debian 12.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        // One copy of functions with the same code: 120 kB less.
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    Ok(())
}
