//! The kernel's memory. It is a file that the kernel shares; it is read and written with system calls, which need no
//! mapping. The kernel waits for an answer while this side works, so nothing is accessed by two at the same time.

use rustix::io::{pread, pwrite};
use std::io;
use std::os::fd::OwnedFd;

/// A part of the memory.
struct Region {
    start: u64,
    size: u64,
    file: OwnedFd,
    offset: u64,
}

/// The parts of the memory that a card may use.
#[derive(Default)]
pub struct Memory {
    regions: Vec<Region>,
}

impl Memory {
    /// Takes a part: its address, its size, and where it begins in the file.
    pub fn add(&mut self, (start, size, offset): (u64, u64, u64), file: OwnedFd) {
        self.regions.push(Region { start, size, file, offset });
    }

    fn find(&self, address: u64, length: usize) -> io::Result<(&OwnedFd, u64)> {
        let holds = |region: &&Region| {
            address >= region.start && address + length as u64 <= region.start + region.size
        };
        let region = self.regions.iter().find(holds);
        let region =
            region.ok_or_else(|| io::Error::other(format!("address {address:#x} is not of the kernel")))?;
        Ok((&region.file, region.offset + address - region.start))
    }

    /// Fills `bytes` from an address on.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let (file, at) = self.find(address, bytes.len())?;
        match pread(file, &mut *bytes, at)? {
            all if all == bytes.len() => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Writes from an address on.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        let (file, at) = self.find(address, bytes.len())?;
        match pwrite(file, bytes, at)? {
            all if all == bytes.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// A number of 16 bits.
    pub fn u16(&self, address: u64) -> io::Result<u16> {
        let mut bytes = [0; 2];
        self.read(address, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }
}
